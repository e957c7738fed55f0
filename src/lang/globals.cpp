// Global slots in chunks that never move, and the tree of global names.

#include "lang/globals.h"

#include <atomic>
#include <mutex>

#include "base/error.h"
#include "lang/builtin_table.h"

namespace castile::lang {

namespace {

constexpr int chunk_bits = 10, chunk_size = 1 << chunk_bits, most_chunks = 1 << 14;

struct Slots {
    std::atomic<Value*> chunks[most_chunks] = {};
    std::mutex growth_mutex;
    int used = 0;
};

Slots& slots() {
    static Slots* slots = new Slots;   // values outlive every static
    return *slots;
}

}  // namespace

Value& global_slot(int slot) noexcept {
    static Slots& all = slots();
    return all.chunks[slot >> chunk_bits].load(std::memory_order_acquire)[slot & (chunk_size - 1)];
}

int new_global_slot(Value initial) {
    Slots& all = slots();
    std::lock_guard lock(all.growth_mutex);
    int slot = all.used++;
    int chunk = slot >> chunk_bits;
    if (chunk >= most_chunks) throw Error("Too many global variables.");
    if (!all.chunks[chunk].load(std::memory_order_relaxed)) all.chunks[chunk].store(new Value[chunk_size], std::memory_order_release);
    all.chunks[chunk].load(std::memory_order_relaxed)[slot & (chunk_size - 1)] = std::move(initial);
    return slot;
}

int GlobalNode::value_slot() {
    if (slot < 0) slot = new_global_slot(builtin ? builtin_value(*builtin) : make ? make() : Value());
    return slot;
}

GlobalNode* GlobalNode::member(Name name) const noexcept {
    auto it = members.find(name);
    return it == members.end() ? nullptr : it->second.get();
}

void GlobalScope::add_builtins() {
    for (const Builtin& b : all_builtins()) declare(b.name).builtin = &b;
    for (const BuiltinConstant& c : all_constants()) declare(c.name).make = c.value;
}

GlobalNode& GlobalScope::declare(std::string_view name) {
    GlobalNode* node = nullptr;
    for (bool first = true; !name.empty(); first = false) {
        std::size_t dot = name.back() == '.' ? name.npos : name.find('.');   // the operator +. is no path
        Name part(name.substr(0, dot));
        name = dot == name.npos ? std::string_view() : name.substr(dot + 1);
        auto& child = first ? roots_[part] : node->members[part];
        if (!child) child = std::make_shared<GlobalNode>();
        child->module = true;
        node = child.get();
    }
    return *node;
}

GlobalNode* GlobalScope::find(Name root) const noexcept {
    auto it = roots_.find(root);
    return it == roots_.end() ? nullptr : it->second.get();
}

GlobalNode* GlobalScope::find_path(std::string_view name) const noexcept {
    std::size_t dot = name.find('.');
    GlobalNode* node = find(Name(name.substr(0, dot)));
    while (node && dot != name.npos) {
        name = name.substr(dot + 1);
        dot = name.find('.');
        node = node->member(Name(name.substr(0, dot)));
    }
    return node;
}

GlobalNode& GlobalScope::bind(Name root) {
    auto& node = roots_[root];
    node = std::make_shared<GlobalNode>();
    return *node;
}

void GlobalScope::alias(Name root, std::shared_ptr<GlobalNode> node) { roots_[root] = std::move(node); }

}  // namespace castile::lang
