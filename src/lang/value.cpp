// Values: construction, sharing, methods, calls.

#include "lang/value.h"

#include <algorithm>
#include <new>

#include "lang/builtin_table.h"
#include "lang/limits.h"
#include "lang/objects.h"

namespace castile::lang {

namespace {

constinit thread_local const Object* dying = nullptr;   // first of the objects whose destruction waits
constinit thread_local bool destroying = false;

/// A list with less than a quarter of the elements of a larger object does not keep the others alive.
constexpr std::size_t shortest_share = 64;

class NativeObject final : public FunctionObject {
public:
    NativeObject(Value::NativeFunction f, std::string name)
        : FunctionObject(Tag::native), function_(std::move(f)), name_(std::move(name)) {}
    Value apply(std::span<const CallArgument> arguments, Span call) const override {
        CallFrame frame(call);
        return function_(arguments);
    }
    std::string describe() const override { return "fun (...) -> (builtin)"; }

private:
    Value::NativeFunction function_;
    std::string name_;
};

}  // namespace

void Object::destroy() const noexcept {
    if (destroying) {
        next_dying = dying;
        dying = this;
        return;
    }
    destroying = true;
    delete this;
    while (dying) {
        const Object* next = dying;
        dying = next->next_dying;
        delete next;
    }
    destroying = false;
}

ElementsObject* ElementsObject::make(std::size_t room) {
    list_length(static_cast<std::int64_t>(room));
    void* memory = ::operator new(sizeof(ElementsObject) + room * sizeof(Value));
    return new (memory) ElementsObject(static_cast<std::uint32_t>(room));
}

ElementsObject::~ElementsObject() { std::destroy_n(end() - used, used); }

Value* ElementsObject::claim_before(std::uint32_t length) const noexcept {
    if (length == room || !std::atomic_ref(used).compare_exchange_strong(length, length + 1, std::memory_order_acq_rel)) return nullptr;
    return end() - length - 1;
}

std::size_t string_length(std::int64_t length) {
    if (length > static_cast<std::int64_t>(longest_string))
        throw RuntimeError("invalid", "A string of " + std::to_string(length) + " bytes is too long: the most is " + std::to_string(longest_string) + ".");
    return static_cast<std::size_t>(std::max<std::int64_t>(length, 0));
}

std::size_t list_length(std::int64_t length) {
    if (length > static_cast<std::int64_t>(longest_list))
        throw RuntimeError("invalid", "A list of " + std::to_string(length) + " elements is too long: the most is " + std::to_string(longest_list) + ".");
    return static_cast<std::size_t>(std::max<std::int64_t>(length, 0));
}

Value Value::string(std::string s) {
    string_length(static_cast<std::int64_t>(s.size()));
    return ValueAccess::make(Kind::string, new StringObject(std::move(s)));
}
Value Value::tuple(std::vector<Value> elements) { return ValueAccess::sequence(Kind::tuple, elements); }
Value Value::list(std::vector<Value> elements) { return ValueAccess::sequence(Kind::list, elements); }

Value Value::foreign(const ForeignKind& kind, std::shared_ptr<void> object) {
    return ValueAccess::make(Kind::foreign, new ForeignObject(kind, std::move(object)));
}

Value Value::function(NativeFunction f, std::string name) {
    return ValueAccess::function(new NativeObject(std::move(f), std::move(name)));
}

Value Value::reference(Value initial) { return ValueAccess::function(new ReferenceObject(std::move(initial))); }

Value Value::record(std::vector<std::pair<Name, Value>> methods) {
    return ValueAccess::with_methods(Value(), std::move(methods));
}

const Value::Bits& Value::below_methods() const noexcept { return ValueAccess::methods(*this)->base.bits_; }

const Object* Value::object() const noexcept {
    const Bits& bits = bits_.boxed ? below_methods() : bits_;
    return bits.owns ? bits.payload.object : nullptr;
}

const std::string& Value::as_string() const noexcept {
    assert(kind() == Kind::string);
    return static_cast<const StringObject*>(object())->text;
}

std::span<const Value> Value::elements() const noexcept {
    assert(kind() == Kind::list || kind() == Kind::tuple);
    const Bits& bits = bits_.boxed ? below_methods() : bits_;
    if (!bits.owns) return {};
    return {static_cast<const ElementsObject*>(bits.payload.object)->end() - bits.length, bits.length};
}

const ForeignKind* Value::foreign_kind() const noexcept {
    return kind() == Kind::foreign ? &static_cast<const ForeignObject*>(object())->kind : nullptr;
}

std::shared_ptr<void> Value::foreign_pointer() const {
    assert(kind() == Kind::foreign);
    return static_cast<const ForeignObject*>(object())->pointer;
}

Value Value::with_first(Value first) const {
    std::span<const Value> rest = elements();
    const auto length = static_cast<std::uint32_t>(rest.size());
    auto* object = static_cast<const ElementsObject*>(this->object());
    Value* place = object ? object->claim_before(length) : nullptr;
    if (!place) {
        ElementsObject* larger = ElementsObject::make(std::max(rest.size() + 1, std::min(rest.size() + rest.size() / 2 + 4, longest_list)));
        std::uninitialized_copy(rest.begin(), rest.end(), larger->end() - length);
        larger->used = length;
        place = larger->claim_before(length);
        object = larger;
    }
    new (place) Value(std::move(first));
    return ValueAccess::make(Kind::list, object, length + 1);
}

Value Value::without_first(std::size_t count) const {
    std::span<const Value> rest = elements().subspan(std::min(count, elements().size()));
    if (rest.empty()) return ValueAccess::adopt({Kind::list});
    auto* object = static_cast<const ElementsObject*>(this->object());
    if (rest.size() < object->room / 4 && object->room > shortest_share) return list({rest.begin(), rest.end()});
    return ValueAccess::make(Kind::list, object, rest.size());
}

const Value* Value::own_method(Name name) const noexcept {
    if (!bits_.boxed) return nullptr;
    for (const auto& [key, value] : ValueAccess::methods(*this)->methods)
        if (key == name) return &value;
    return nullptr;
}

Value Value::with_method(Name name, Value method) const {
    MethodTable table;
    if (bits_.boxed) table = ValueAccess::methods(*this)->methods;
    auto it = std::ranges::find(table, name, &MethodTable::value_type::first);
    if (it != table.end()) it->second = std::move(method);
    else table.emplace_back(name, std::move(method));
    return ValueAccess::with_methods(*this, std::move(table));
}

std::vector<std::pair<Name, Value>> Value::own_methods() const {
    return bits_.boxed ? ValueAccess::methods(*this)->methods : MethodTable{};
}

Value Value::without_methods() const noexcept { return bits_.boxed ? ValueAccess::methods(*this)->base : *this; }

std::optional<Value> Value::find_method(Name name) const {
    if (const Value* own = own_method(name)) return *own;
    if (kind() == Kind::foreign) return foreign_method(*this, name);
    if (kind() == Kind::function) {
        static const Name set("set");
        const auto* f = ValueAccess::function(*this);
        if (f->tag == FunctionObject::Tag::reference && name == set) {
            Value self = without_methods();
            return function([self](std::span<const CallArgument> a) {
                static_cast<const ReferenceObject*>(self.object())->store(a[0].value);
                return unit();
            }, "set");
        }
    }
    return std::nullopt;
}

Value ValueAccess::sequence(Value::Kind kind, std::span<Value> elements) {
    if (elements.empty()) return adopt({kind});
    ElementsObject* object = ElementsObject::make(elements.size());
    std::uninitialized_move(elements.begin(), elements.end(), object->end() - elements.size());
    object->used = object->room;
    return make(kind, object, elements.size());
}

Value ValueAccess::with_methods(const Value& base, MethodTable methods) {
    Value bare = base.without_methods();
    if (methods.empty()) return bare;
    const Value::Kind kind = bare.kind();
    Value v = make(kind, new MethodsObject(std::move(bare), std::move(methods)));
    v.bits_.boxed = true;
    return v;
}

Value ValueAccess::apply(const Value& function, std::span<const CallArgument> arguments, Span call) {
    assert(function.kind() == Value::Kind::function);
    check_stack();
    return ValueAccess::function(function)->apply(arguments, call);
}

Value Value::call(std::span<const CallArgument> arguments) const { return ValueAccess::apply(*this, arguments, Span{}); }

Value Value::call() const { return call(std::span<const CallArgument>{}); }

Value Value::call(std::initializer_list<Value> positional) const {
    assert(kind() == Kind::function);
    check_stack();
    return ValueAccess::function(*this)->apply(std::span(positional.begin(), positional.size()), Span{});
}

Value Value::get() const { return kind() == Kind::function ? call() : *this; }

Value FunctionObject::apply(std::span<const Value> positional, Span call) const {
    std::vector<CallArgument> arguments;
    arguments.reserve(positional.size());
    for (const Value& v : positional) arguments.push_back({Name(), v});
    return apply(arguments, call);
}

}  // namespace castile::lang
