// Constants, variables, structures, methods.

#include <fmt/format.h>

#include "base/error.h"
#include "lang/compile.h"
#include "lang/decode.h"
#include "lang/diag.h"
#include "lang/eval.h"
#include "lang/globals.h"

namespace castile::lang {

namespace {

struct Constant final : Code {
    explicit Constant(Value v) : value(std::move(v)) { make_immortal(value); }
    Value run(Frame&) const override { return value; }
    const Value& look(Frame&, Value&) const override { return value; }
    const Value value;
};

struct LocalVariable final : Code {
    explicit LocalVariable(int s) : slot(s) {}
    Value run(Frame& frame) const override { return frame.locals[slot]; }
    const Value& look(Frame& frame, Value&) const override { return frame.locals[slot]; }
    const int slot;
};

struct CapturedVariable final : Code {
    explicit CapturedVariable(int s) : slot(s) {}
    Value run(Frame& frame) const override { return frame.captured[slot]; }
    const Value& look(Frame& frame, Value&) const override { return frame.captured[slot]; }
    const int slot;
};

struct GlobalVariable final : Code {
    explicit GlobalVariable(const Value& v) : value(v) {}
    Value run(Frame&) const override { return value; }
    const Value& look(Frame&, Value&) const override { return value; }
    const Value& value;   // in its slot
};

/// A tuple or a list.
struct SequenceCode final : Code {
    SequenceCode(Value::Kind k, std::vector<const Code*> e) : kind(k), elements(std::move(e)) {}
    Value run(Frame& frame) const override {
        Locals values(frame.stack, elements.size());
        for (std::size_t i = 0; i < elements.size(); ++i) values[i] = elements[i]->run(frame);
        return ValueAccess::sequence(kind, {values.data(), elements.size()});
    }
    const Value::Kind kind;
    const std::vector<const Code*> elements;
};

/// [a, b, ...list], without copying the list.
struct PrependCode final : Code {
    PrependCode(std::vector<const Code*> f, const Code* l) : first(std::move(f)), list(l) {}
    Value run(Frame& frame) const override {
        Locals values(frame.stack, first.size());
        for (std::size_t i = 0; i < first.size(); ++i) values[i] = first[i]->run(frame);
        Value result = list->run(frame).without_methods();
        for (std::size_t i = first.size(); i-- > 0;) result = result.with_first(std::move(values[i]));
        return result;
    }
    const std::vector<const Code*> first;
    const Code* const list;
};

struct SpreadListCode final : Code {
    struct Item { const Code* code; bool spread; };
    SpreadListCode(std::vector<Item> i, Span s) : items(std::move(i)), span(s) {}
    Value run(Frame& frame) const override {
        std::vector<Value> elements;
        for (const Item& item : items) {
            Value v = item.code->run(frame);
            if (!item.spread) elements.push_back(std::move(v));
            else elements.insert(elements.end(), v.elements().begin(), v.elements().end());
        }
        CallFrame trace(frame.stack, span);   // of an error: it may be too long
        return Value::list(std::move(elements));
    }
    const std::vector<Item> items;
    const Span span;
};

struct MethodsCode final : Code {
    struct Method { Name name; const Code* code; };
    MethodsCode(const Code* b, std::vector<Method> m, const Code* s) : base(b), methods(std::move(m)), spread(s) {}
    Value run(Frame& frame) const override {
        Value value = base ? base->run(frame) : Value();
        MethodTable table;
        if (const MethodsObject* own = ValueAccess::methods(value)) {
            table.reserve(own->methods.size() + methods.size());
            table = own->methods;
        } else {
            table.reserve(methods.size());
        }
        for (const Method& m : methods) put(table, m.name, m.code->run(frame));
        if (spread) {
            Value more = spread->run(frame);
            if (const MethodsObject* own = ValueAccess::methods(more))
                for (const auto& [name, v] : own->methods) put(table, name, v);
        }
        return ValueAccess::with_methods(value, std::move(table));
    }
    static void put(MethodTable& table, Name name, Value value) {
        for (auto& [key, old] : table)
            if (key == name) return void(old = std::move(value));
        table.emplace_back(name, std::move(value));
    }
    const Code* const base;
    const std::vector<Method> methods;
    const Code* const spread;
};

struct InvokeCode final : Code {
    InvokeCode(const Code* b, Name n, bool o, const Code* e, Span s) : base(b), name(n), optional(o), otherwise(e), span(s) {}
    Value run(Frame& frame) const override {
        Value room;
        return look(frame, room);
    }
    const Value& look(Frame& frame, Value& room) const override {
        const Value& value = base->look(frame, room);
        const bool needed = !otherwise && !optional;
        if (const Value* own = value.own_method(name); own && (!otherwise || !own->is_null())) return *own;
        if (needed) return room = method_of(value, name, span);
        std::optional<Value> found = value.find_method(name);
        if (found && !(otherwise && found->is_null())) return room = std::move(*found);
        return otherwise ? otherwise->look(frame, room) : room = Value::null();
    }
    const Code* const base;
    const Name name;
    const bool optional;
    const Code* const otherwise;
    const Span span;
};

struct ToFloatCode final : Code {
    explicit ToFloatCode(const Code* v) : value(v) {}
    Value run(Frame& frame) const override {
        Value v = value->run(frame);
        if (v.kind() != Value::Kind::integer) return v;
        return ValueAccess::with_methods(Value::floating(v.as_float()), v.own_methods());
    }
    const Code* const value;
};

struct DecodeCode final : Code {
    using Option = std::pair<Name, const Code*>;
    DecodeCode(const term::Decode& d, const Type* t, Span s, std::vector<Option> o, const Code* i)
        : decode(d), type(t), span(s), options(std::move(o)), input(i) {}
    Value run(Frame& frame) const override {
        static const Name eval_name("eval");
        std::vector<CallArgument> values;
        for (const auto& [label, code] : options) values.push_back({label, code->run(frame)});
        Value data = input->run(frame);
        CallFrame trace(frame.stack, span);
        if (decode.decoder == eval_name) return evaluator_hooks().evaluate_text(data.as_string(), type, span);
        DecodeFunction function = find_decoder(decode.decoder);
        if (!function) fail(span, "not_found", "The decoder " + decode.decoder.str() + " is not available.");
        return function(*decode.shape, values, data);
    }
    const term::Decode& decode;
    const Type* const type;
    const Span span;
    const std::vector<Option> options;
    const Code* const input;
};

struct EncoderCode final : Code {
    struct Param { Name label; const Code* value; const EncoderCode* encoder; Name word; Span span; };
    Value run(Frame& frame) const override {
        auto made = literal(frame);
        if (!evaluator_hooks().encoder_maker)
            throw ScriptError(Diagnostic{Severity::error, 12, span, "Unsupported encoder: %" + name.str() + "."});
        try {
            return evaluator_hooks().encoder_maker(*made);
        } catch (const Error& e) {
            throw ScriptError(Diagnostic{Severity::error, 8, span, e.what()});
        }
    }
    std::shared_ptr<EncoderLiteral> literal(Frame& frame) const {
        auto literal = std::make_shared<EncoderLiteral>();
        literal->name = name;
        literal->span = span;
        for (const Param& p : params)
            literal->params.push_back({p.label, p.value ? p.value->run(frame) : Value(), p.encoder ? p.encoder->literal(frame) : nullptr, p.word, p.span});
        return literal;
    }
    Name name;
    Span span;
    std::vector<Param> params;
};

std::vector<const Code*> compile_all(Compiler& c, const std::vector<Term*>& terms) {
    std::vector<const Code*> codes;
    for (const Term* t : terms) codes.push_back(c.compile(t));
    return codes;
}

}  // namespace

Value method_of(const Value& value, Name name, Span span) {
    if (std::optional<Value> found = value.find_method(name)) return std::move(*found);
    fail(span, "invalid", fmt::format("The value {} has no method {}.", to_string(value, true), name.str()));
}

const FunctionObject* known_function(const Term* term) {
    auto* variable = std::get_if<term::Variable>(&term->node);
    if (!variable || variable->scope != term::Scope::global) return nullptr;
    const Value& value = global_slot(variable->slot);
    return value.kind() == Value::Kind::function ? ValueAccess::function(value) : nullptr;
}

const Code* compile_node(Compiler& c, const term::Int& n, Place) { return c.make<Constant>(Value::integer(n.value)); }
const Code* compile_node(Compiler& c, const term::Float& n, Place) { return c.make<Constant>(Value::floating(n.value)); }
const Code* compile_node(Compiler& c, const term::String& n, Place) { return c.make<Constant>(Value::string(n.value)); }
const Code* compile_node(Compiler& c, const term::Bool& n, Place) { return c.make<Constant>(Value::boolean(n.value)); }
const Code* compile_node(Compiler& c, const term::Null&, Place) { return c.make<Constant>(Value::null()); }

const Code* compile_node(Compiler& c, const term::Variable& n, Place place) {
    switch (n.scope) {
    case term::Scope::local: return c.make<LocalVariable>(n.slot);
    case term::Scope::captured: return c.make<CapturedVariable>(n.slot);
    case term::Scope::global: return c.make<GlobalVariable>(global_slot(n.slot));
    case term::Scope::unresolved: break;
    }
    throw ScriptError(Diagnostic{Severity::error, 4, place.term.span, "Undefined variable " + n.name.str()});
}

const Code* compile_node(Compiler& c, const term::Tuple& n, Place) {
    if (n.elements.empty()) return c.make<Constant>(Value());
    return c.make<SequenceCode>(Value::Kind::tuple, compile_all(c, n.elements));
}

const Code* compile_node(Compiler& c, const term::List& n, Place place) {
    std::vector<const Code*> codes;
    std::vector<SpreadListCode::Item> items;
    std::size_t spreads = 0;
    for (const term::ListItem& item : n.items) {
        codes.push_back(c.compile(item.value));
        items.push_back({codes.back(), item.spread});
        spreads += item.spread;
    }
    if (spreads == 0) return c.make<SequenceCode>(Value::Kind::list, std::move(codes));
    if (spreads > 1 || !n.items.back().spread) return c.make<SpreadListCode>(std::move(items), place.term.span);
    const Code* list = codes.back();
    codes.pop_back();
    return c.make<PrependCode>(std::move(codes), list);
}

const Code* compile_node(Compiler& c, const term::Methods& n, Place) {
    const Code* base = c.compile_optional(n.base);
    std::vector<MethodsCode::Method> methods;
    for (const term::MethodValue& m : n.methods) methods.push_back({m.name, c.compile(m.value)});
    return c.make<MethodsCode>(base, std::move(methods), c.compile_optional(n.spread));
}

const Code* compile_node(Compiler& c, const term::Invoke& n, Place place) {
    return c.make<InvokeCode>(c.compile(n.base), n.method, n.optional, c.compile_optional(n.otherwise), place.term.span);
}

const Code* compile_node(Compiler& c, const term::Ascribe& n, Place place) { return c.compile(n.value, place.last); }
const Code* compile_node(Compiler& c, const term::ToFloat& n, Place) { return c.make<ToFloatCode>(c.compile(n.value)); }

const Code* compile_node(Compiler& c, const term::Decode& n, Place place) {
    std::vector<DecodeCode::Option> options;
    for (const term::Argument& option : n.options) options.emplace_back(option.label, c.compile(option.value));
    return c.make<DecodeCode>(n, place.term.type, place.term.span, std::move(options), c.compile(n.input));
}

const Code* compile_node(Compiler& c, const term::Encoder& n, Place place) {
    EncoderCode code;
    code.name = n.name;
    code.span = place.term.span;
    for (const term::EncoderParam& p : n.params) {
        const EncoderCode* nested = p.encoder ? static_cast<const EncoderCode*>(c.compile(p.encoder)) : nullptr;
        Span span = p.value ? p.value->span : p.encoder ? p.encoder->span : code.span;
        code.params.push_back({p.label, c.compile_optional(p.value), nested, p.word, span});
    }
    return c.make<EncoderCode>(std::move(code));
}

}  // namespace castile::lang
