// Patterns: values taken apart.

#include <fmt/format.h>

#include "lang/compile.h"
#include "lang/globals.h"

namespace castile::lang {

namespace {

struct BindLocal final : Binder {
    explicit BindLocal(int s) : slot(s) {}
    void bind(Value value, Frame& frame) const override { frame.locals[slot] = std::move(value); }
    const int slot;
};

struct BindGlobal final : Binder {
    explicit BindGlobal(Value& s) : slot(s) {}
    void bind(Value value, Frame&) const override {
        make_immortal(value);   // a slot keeps its value as long as the process lives
        slot = std::move(value);
    }
    Value& slot;
};

struct BindTuple final : Binder {
    explicit BindTuple(std::vector<const Binder*> e) : elements(std::move(e)) {}
    void bind(Value value, Frame& frame) const override {
        std::span<const Value> values = value.elements();
        assert(values.size() >= elements.size());
        for (std::size_t i = 0; i < elements.size(); ++i)
            if (elements[i]) elements[i]->bind(values[i], frame);
    }
    const std::vector<const Binder*> elements;
};

struct BindList final : Binder {
    BindList(std::vector<const Binder*> b, const Binder* r, bool o, std::vector<const Binder*> a, Span s)
        : before(std::move(b)), rest(r), open(o), after(std::move(a)), span(s) {}
    void bind(Value value, Frame& frame) const override {
        std::span<const Value> values = value.elements();
        const std::size_t fixed = before.size() + after.size();
        if (values.size() < fixed)
            fail(span, "not_found", fmt::format("The list has {} elements, the pattern wants {}{}.", values.size(), open ? "at least " : "", fixed));
        for (std::size_t i = 0; i < before.size(); ++i)
            if (before[i]) before[i]->bind(values[i], frame);
        if (rest && after.empty()) {
            rest->bind(value.without_first(before.size()), frame);
        } else if (rest) {
            auto middle = values.subspan(before.size(), values.size() - fixed);
            rest->bind(Value::list({middle.begin(), middle.end()}), frame);
        }
        for (std::size_t i = 0; i < after.size(); ++i)
            if (after[i]) after[i]->bind(values[values.size() - after.size() + i], frame);
    }
    const std::vector<const Binder*> before;
    const Binder* const rest;
    const bool open;   // the list may be longer
    const std::vector<const Binder*> after;
    const Span span;
};

struct BindRecord final : Binder {
    struct Field { Name name; const Binder* binder; bool optional; const Code* default_value; };
    BindRecord(std::vector<Field> f, const Binder* r, Span s) : fields(std::move(f)), rest(r), span(s) {}
    void bind(Value value, Frame& frame) const override {
        for (const Field& field : fields) {
            std::optional<Value> found = value.find_method(field.name);
            if (!found || (found->is_null() && field.default_value)) {
                if (field.default_value) found = field.default_value->run(frame);
                else if (field.optional || found) found = Value::null();
                else fail(span, "not_found", "The value has no method " + field.name.str() + ".");
            }
            if (field.binder) field.binder->bind(std::move(*found), frame);
        }
        if (!rest) return;
        MethodTable others;
        for (auto& method : value.own_methods()) {
            bool named = false;
            for (const Field& field : fields) named = named || field.name == method.first;
            if (!named) others.push_back(std::move(method));
        }
        rest->bind(ValueAccess::with_methods(value, std::move(others)), frame);
    }
    const std::vector<Field> fields;
    const Binder* const rest;   // of the value without these methods
    const Span span;
};

std::vector<const Binder*> binders(Compiler& c, const std::vector<Pattern*>& patterns) {
    std::vector<const Binder*> result;
    for (const Pattern* p : patterns) result.push_back(c.binder(p));
    return result;
}

}  // namespace

const Binder* Compiler::binder(const Pattern* pattern) {
    if (!pattern || std::holds_alternative<pat::Wildcard>(pattern->node)) return nullptr;
    if (auto* v = std::get_if<pat::Variable>(&pattern->node)) {
        if (v->global) return make<BindGlobal>(global_slot(v->slot));
        return v->slot >= 0 ? make<BindLocal>(v->slot) : nullptr;
    }
    if (auto* tuple = std::get_if<pat::Tuple>(&pattern->node)) return make<BindTuple>(binders(*this, tuple->elements));
    if (auto* list = std::get_if<pat::List>(&pattern->node))
        return make<BindList>(binders(*this, list->before), binder(list->rest), list->rest != nullptr, binders(*this, list->after), pattern->span);
    const auto& record = std::get<pat::Record>(pattern->node);
    std::vector<BindRecord::Field> fields;
    for (const pat::Field& f : record.fields) fields.push_back({f.name, binder(f.pattern), f.optional, compile_optional(f.default_value)});
    return make<BindRecord>(std::move(fields), binder(record.base), pattern->span);
}

}  // namespace castile::lang
