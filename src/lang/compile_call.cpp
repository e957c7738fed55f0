// Functions and calls.

#include "lang/builtin_object.h"
#include "lang/compile.h"
#include "lang/diag.h"

namespace castile::lang {

namespace {

struct FunctionNode final : Code {
    struct Default { std::size_t index; const Code* code; };
    Value run(Frame& frame) const override {
        ClosureObject* closure = ClosureObject::make(code);
        Value value = ValueAccess::function(closure);
        Value* place = closure->values();
        for (const term::Capture& c : code.function->captures)
            *place++ = c.scope == term::Scope::local ? frame.locals[c.slot] : frame.captured[c.slot];
        for (const Default& d : defaults) closure->values()[d.index] = d.code->run(frame);
        return value;
    }
    FunctionCode code;
    std::vector<Default> defaults;
};

struct Argument { Name label; const Code* code; };

/// A call whose function is only known when it runs.
struct CallCode : Code {
    CallCode(const Code* f, std::vector<Argument> a, Span s) : function(f), arguments(std::move(a)), span(s) {
        for (const Argument& argument : arguments) labelled = labelled || !argument.label.empty();
    }
    Value run(Frame& frame) const override {
        Value room;
        const Value& callee = function->look(frame, room);
        assert(callee.kind() == Value::Kind::function);
        const FunctionObject* object = ValueAccess::function(callee);
        if (object->tag == FunctionObject::Tag::closure) {
            auto& closure = *static_cast<const ClosureObject*>(object);
            Frame called(frame.stack, closure);
            place(closure, frame, called.locals);
            return called.run(span);
        }
        return apply(*object, frame);
    }

protected:
    void place(const ClosureObject& closure, Frame& frame, Value* locals) const {
        if (!labelled && !closure.code.labelled && arguments.size() == closure.code.params.size()) {
            for (const Argument& argument : arguments) *locals++ = argument.code->run(frame);
            return;
        }
        Placement placement(closure.code);
        for (const Argument& argument : arguments) locals[placement.place(argument.label)] = argument.code->run(frame);
        placement.defaults(closure, locals);
    }
    Value apply(const FunctionObject& object, Frame& frame) const {
        if (object.tag == FunctionObject::Tag::reference) return static_cast<const ReferenceObject&>(object).load();
        check_stack(frame.stack);
        if (!labelled) {
            Locals values(frame.stack, arguments.size());
            for (std::size_t i = 0; i < arguments.size(); ++i) values[i] = arguments[i].code->run(frame);
            return object.apply(std::span<const Value>(values.data(), arguments.size()), span);
        }
        std::vector<CallArgument> values;
        for (const Argument& argument : arguments) values.push_back({argument.label, argument.code->run(frame)});
        return object.apply(values, span);
    }

    const Code* const function;
    const std::vector<Argument> arguments;
    const Span span;
    bool labelled = false;
};

/// The last act of a function: the function called takes its place.
struct LastCallCode final : CallCode {
    using CallCode::CallCode;
    Value run(Frame& frame) const override {
        Value room;
        const Value& callee = function->look(frame, room);
        assert(callee.kind() == Value::Kind::function);
        const FunctionObject* object = ValueAccess::function(callee);
        if (object->tag != FunctionObject::Tag::closure) return apply(*object, frame);
        auto& closure = *static_cast<const ClosureObject*>(object);
        Locals locals(frame.stack, closure.code.locals);
        place(closure, frame, locals.data());
        frame.leave_to(callee, span);
        locals.leave();
        return Value();
    }
};

/// A call of a builtin: each argument has its place already.
struct BuiltinCallCode final : Code {
    struct Argument { std::size_t index; const Code* code; };
    BuiltinCallCode(const DeclaredObject& b, std::vector<Argument> a, std::vector<std::size_t> o, Span s)
        : builtin(b), arguments(std::move(a)), omitted(std::move(o)), span(s) {}
    Value run(Frame& frame) const override {
        check_stack(frame.stack);
        const std::size_t count = arguments.size() + omitted.size();
        Locals values(frame.stack, count);
        for (const Argument& argument : arguments) values[argument.index] = argument.code->run(frame);
        for (std::size_t i : omitted) values[i] = builtin.signature().default_of(i);
        return builtin.call({values.data(), count}, span);
    }
    const DeclaredObject& builtin;
    const std::vector<Argument> arguments;
    const std::vector<std::size_t> omitted;
    const Span span;
};

/// reference.set(value), which is how `:=` arrives here.
struct SetCode final : Code {
    SetCode(const Code* r, const Code* v, Span i, Span s) : reference(r), value(v), invoke_span(i), span(s) {}
    Value run(Frame& frame) const override {
        static const Name set("set");
        Value room;
        const Value& target = reference->look(frame, room);
        if (target.kind() == Value::Kind::function && !ValueAccess::methods(target))
            if (auto* function = ValueAccess::function(target); function->tag == FunctionObject::Tag::reference) {
                static_cast<const ReferenceObject*>(function)->store(value->run(frame));
                return Value();
            }
        const Value method = method_of(target, set, invoke_span);
        const Value argument = value->run(frame);
        check_stack(frame.stack);
        return ValueAccess::function(method)->apply(std::span(&argument, 1), span);
    }
    const Code *const reference, *const value;
    const Span invoke_span, span;
};

const Code* builtin_call(Compiler& c, const DeclaredObject& builtin, const term::Apply& n, Span span) {
    Signature& signature = builtin.signature();
    std::vector<bool> given(signature.size());
    std::vector<BuiltinCallCode::Argument> arguments;
    std::vector<const Code*> codes;
    for (const term::Argument& argument : n.arguments) {
        std::size_t i = 0;
        while (i < signature.size() && (given[i] || !(signature.label(i) == argument.label))) ++i;
        if (i == signature.size()) return nullptr;
        given[i] = true;
        codes.push_back(c.compile(argument.value));
        arguments.push_back({i, codes.back()});
    }
    std::vector<std::size_t> omitted;
    for (std::size_t i = 0; i < signature.size(); ++i) {
        if (!given[i] && !signature.optional(i)) return nullptr;
        if (!given[i]) omitted.push_back(i);
    }
    if (const Code* code = compile_operator(c, builtin, codes, span)) return code;
    return c.make<BuiltinCallCode>(builtin, std::move(arguments), std::move(omitted), span);
}

}  // namespace

const Code* compile_node(Compiler& c, const term::Apply& n, Place place) {
    if (auto* known = known_function(n.function); known && known->tag == FunctionObject::Tag::builtin)
        if (const Code* code = builtin_call(c, *static_cast<const DeclaredObject*>(known), n, place.term.span)) return code;
    static const Name set("set");
    auto* invoke = std::get_if<term::Invoke>(&n.function->node);
    if (invoke && invoke->method == set && !invoke->optional && !invoke->otherwise && n.arguments.size() == 1 && n.arguments[0].label.empty())
        return c.make<SetCode>(c.compile(invoke->base), c.compile(n.arguments[0].value), n.function->span, place.term.span);
    const Code* function = c.compile(n.function);
    std::vector<Argument> arguments;
    for (const term::Argument& a : n.arguments) arguments.push_back({a.label, c.compile(a.value)});
    if (place.last) return c.make<LastCallCode>(function, std::move(arguments), place.term.span);
    return c.make<CallCode>(function, std::move(arguments), place.term.span);
}

const Code* compile_node(Compiler& c, const term::Function& f, Place place) {
    if (f.params.size() > Placement::most_params)
        throw ScriptError(Diagnostic{Severity::error, 3, place.term.span, "A function has at most 64 parameters."});
    FunctionNode node;
    FunctionCode& code = node.code;
    code.function = &f;
    code.locals = static_cast<std::size_t>(f.locals);
    code.self_slot = f.self_slot;
    code.values = f.captures.size();
    for (const term::Param& p : f.params) {
        FunctionCode::Param param{p.label, p.default_value != nullptr, -1, nullptr};
        if (p.default_value) {
            param.default_index = static_cast<int>(code.values);
            node.defaults.push_back({code.values++, c.compile(p.default_value)});
        }
        if (p.pattern && !std::holds_alternative<pat::Variable>(p.pattern->node)) param.binder = c.binder(p.pattern);
        code.labelled = code.labelled || !p.label.empty();
        code.takes_apart = code.takes_apart || param.binder;
        code.params.push_back(param);
    }
    code.body = c.compile(f.body, true);
    return c.make<FunctionNode>(std::move(node));
}

}  // namespace castile::lang
