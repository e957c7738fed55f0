#include "lang/environment.h"

#include <algorithm>
#include <cctype>

namespace castile::lang {

std::vector<Name> split_dotted(std::string_view name) {
    std::vector<Name> parts;
    // Operators such as "+." or "/." are whole names.
    const bool word = !name.empty() && (std::isalpha(static_cast<unsigned char>(name[0])) || name[0] == '_' || (name[0] & 0x80));
    if (!word || name == "_[_]") return {Name(name)};
    while (true) {
        const auto dot = name.find('.');
        parts.emplace_back(name.substr(0, dot));
        if (dot == std::string_view::npos) return parts;
        name.remove_prefix(dot + 1);
    }
}

std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates) {
    std::string best;
    if (word.size() < 2) return best;   // everything is near to a single letter
    std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
    std::vector<std::size_t> row, previous, before;
    for (const std::string& candidate : candidates) {
        const std::size_t n = word.size(), m = candidate.size();
        // Of two as near, the one that begins alike: who types the first letter wrongly sees it.
        const bool begins_better = !best.empty() && best[0] != word[0] && candidate.starts_with(word[0]);
        if (candidate == word || (n > m ? n - m : m - n) >= best_distance + (begins_better ? 1 : 0)) continue;
        row.assign(m + 1, 0);
        previous.assign(m + 1, 0);
        for (std::size_t j = 0; j <= m; ++j) previous[j] = j;
        for (std::size_t i = 1; i <= n; ++i) {
            row[0] = i;
            for (std::size_t j = 1; j <= m; ++j) {
                row[j] = std::min({previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (word[i - 1] != candidate[j - 1])});
                if (i > 1 && j > 1 && word[i - 1] == candidate[j - 2] && word[i - 2] == candidate[j - 1])
                    row[j] = std::min(row[j], before[j - 2] + 1);
            }
            before = previous;
            std::swap(row, previous);
        }
        if (previous[m] < best_distance + (begins_better ? 1 : 0)) {
            best_distance = previous[m];
            best = candidate;
        }
    }
    return best;
}

TypeEnvironment::Impl::Impl()
    : unifier(pool, [this](Name constructor, Name method) { return constructor_method(constructor, method); }), reader(pool) {}

TypeNode* TypeEnvironment::Impl::child(TypeNode* node, Name name) const {
    for (; node; node = node->fallback)
        for (auto it = node->children.rbegin(); it != node->children.rend(); ++it)
            if (it->first == name) return it->second;
    return nullptr;
}

void TypeEnvironment::Impl::set_child(TypeNode* node, Name name, TypeNode* child) {
    std::erase_if(node->children, [&](const auto& entry) { return entry.first == name; });
    node->children.emplace_back(name, child);
    node->whole = {};
}

void TypeEnvironment::Impl::children_of(TypeNode* node, std::vector<std::pair<Name, TypeNode*>>& out) const {
    std::unordered_set<Name> seen;
    for (; node; node = node->fallback)
        for (auto it = node->children.rbegin(); it != node->children.rend(); ++it)
            if (seen.insert(it->first).second) out.push_back(*it);
}

TypeNode* TypeEnvironment::Impl::declare(Name name) {
    const std::vector<Name> parts = split_dotted(name.view());
    TypeNode*& root = globals[parts[0]];
    if (!root) root = make_node();
    TypeNode* node = root;
    node->whole = {};
    for (std::size_t i = 1; i < parts.size(); ++i) {
        TypeNode* next = child(node, parts[i]);
        if (!next) {
            next = make_node();
            node->children.emplace_back(parts[i], next);
        }
        node = next;
        node->whole = {};
    }
    return node;
}

TypeNode* TypeEnvironment::Impl::find(std::string_view dotted) const {
    TypeNode* node = nullptr;
    bool first = true;
    for (Name part : split_dotted(dotted)) {
        if (first) {
            const auto at = globals.find(part);
            node = at == globals.end() ? nullptr : at->second;
        } else {
            node = child(node, part);
        }
        first = false;
        if (!node) return nullptr;
    }
    return node;
}

const Scheme& TypeEnvironment::Impl::own(TypeNode* node) {
    if (!node->own.type && !node->text.empty()) node->own = reader.declaration(node->text);
    return node->own;
}

const Scheme& TypeEnvironment::Impl::whole(TypeNode* node) {
    std::vector<std::pair<Name, TypeNode*>> children;
    children_of(node, children);
    if (children.empty()) {
        if (own(node).type) return node->own;
        node->own.type = pool.unit();
        return node->own;
    }
    if (node->whole.type) return node->whole;
    std::vector<TypeField> fields;
    for (const auto& [name, below] : children) {
        const Scheme& scheme = whole(below);
        TypeField field{name, scheme.type};
        field.quantified = scheme.quantified;
        field.quantified_count = static_cast<std::uint16_t>(scheme.quantified_count);
        fields.push_back(field);
    }
    node->whole = own(node);
    node->whole.type = pool.record(fields, node->own.type ? node->own.type : pool.unit());
    return node->whole;
}

const TypeField* TypeEnvironment::Impl::constructor_method(Name constructor, Name method) {
    const auto methods = constructor_methods.find(constructor);
    if (methods == constructor_methods.end()) return nullptr;
    const auto at = methods->second.find(method);
    if (at == methods->second.end()) return nullptr;
    TypeField& field = at->second.field;
    if (!field.type) {
        const Scheme scheme = reader.declaration(at->second.text);
        field.name = method;
        field.type = scheme.type;
        field.quantified = scheme.quantified;
        field.quantified_count = static_cast<std::uint16_t>(scheme.quantified_count);
    }
    return &field;
}

void TypeEnvironment::Impl::all_constructor_methods(Name constructor, std::vector<Name>& names) const {
    const auto methods = constructor_methods.find(constructor);
    if (methods == constructor_methods.end()) return;
    for (const auto& [name, field] : methods->second) names.push_back(name);
}

TypeEnvironment::TypeEnvironment() : impl_(std::make_unique<Impl>()) {}
TypeEnvironment::~TypeEnvironment() = default;
TypeEnvironment::TypeEnvironment(TypeEnvironment&&) noexcept = default;

void TypeEnvironment::declare(Name name, std::string_view type_text) {
    TypeNode* node = impl_->declare(name);
    node->text = impl_->keep(type_text);
    node->own = {};
    impl_->reader.may_mention(node->text);
}

void TypeEnvironment::declare_method(Name constructor, Name method, std::string_view type_text) {
    auto& entry = impl_->constructor_methods[constructor][method];
    entry = {impl_->keep(type_text), {}};
    impl_->reader.may_mention(entry.text);
}

void TypeEnvironment::set_encoder_typer(EncoderTyper typer) { impl_->encoder_typer = std::move(typer); }

void TypeEnvironment::deprecate(Name name, std::string_view message) {
    impl_->declare(name)->deprecated = &impl_->texts.emplace_back(message);
}

void TypeEnvironment::end_library() {
    for (auto& [name, node] : impl_->globals) node->library = true;
}

bool TypeEnvironment::defined(std::string_view dotted_name) const {
    TypeNode* node = impl_->find(dotted_name);
    if (node) return true;
    // A method of a value: `settings.x` given as one record.
    const auto dot = dotted_name.rfind('.');
    if (dot == std::string_view::npos) return false;
    node = impl_->find(dotted_name.substr(0, dot));
    return node && node->has_own() && find_field(impl_->own(node).type, Name(dotted_name.substr(dot + 1)));
}

std::string TypeEnvironment::type_of(std::string_view dotted_name) const {
    TypeNode* node = impl_->find(dotted_name);
    return node ? print_scheme(impl_->whole(node)) : "";
}

std::vector<std::string> TypeEnvironment::names() const {
    std::vector<std::string> result;
    auto visit = [&](auto&& self, const std::string& name, TypeNode* node) -> void {
        if (node->has_own()) result.push_back(name);
        std::vector<std::pair<Name, TypeNode*>> children;
        impl_->children_of(node, children);
        for (const auto& [member, below] : children) self(self, name + "." + member.str(), below);
    };
    for (const auto& [name, node] : impl_->globals) visit(visit, name.str(), node);
    std::sort(result.begin(), result.end());
    return result;
}

}  // namespace castile::lang
