// The evaluator: a loop over terms, so that chains and tail calls take no stack.

#include "lang/eval.h"

#include <sys/mman.h>

#include <array>
#include <cassert>
#include <fmt/format.h>

#include "base/error.h"
#include "lang/decode.h"
#include "lang/objects.h"
#include "lang/text.h"

namespace castile::lang {

namespace {

/// Locals of the activations of one thread, in address space that is only touched when used.
class LocalStack {
public:
    static constexpr std::size_t capacity = 1 << 18;   // values

    LocalStack() {
        // Zeroed memory is an array of units.
        void* memory = mmap(nullptr, capacity * sizeof(Value), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        base_ = static_cast<Value*>(memory);
    }
    ~LocalStack() { munmap(base_, capacity * sizeof(Value)); }

    Value* push(std::size_t n) {
        if (used_ + n > capacity) throw RuntimeError("stack_overflow", "The calls are nested too deeply (stack overflow).");
        Value* locals = base_ + used_;
        used_ += n;
        return locals;
    }
    void pop(std::size_t n) noexcept {
        used_ -= n;
        for (Value* v = base_ + used_; n > 0; --n, ++v) *v = Value();
    }

private:
    Value* base_;
    std::size_t used_ = 0;
};

LocalStack& local_stack() {
    thread_local LocalStack stack;
    return stack;
}

class ClosureObject final : public FunctionObject {
public:
    explicit ClosureObject(const term::Function& f) : FunctionObject(Tag::closure), function(f), captured(f.captures.size()) {}
    Value apply(std::span<const CallArgument> arguments, Span call) const override;
    std::string describe() const override;

    const term::Function& function;    // in an arena that the engine keeps
    std::vector<Value> captured;
    std::vector<Value> defaults;       // one a parameter when any has a default
};

struct Activation {
    Value* locals;
    const Value* captured;
};

/// Arguments of a call in progress, without allocation when few.
class Arguments {
public:
    explicit Arguments(std::size_t capacity) {
        if (capacity > inline_.size()) more_.reserve(capacity);
        else data_ = inline_.data();
    }
    Arguments(const Arguments&) = delete;
    void add(Name label, Value value) {
        if (data_) data_[size_++] = {label, std::move(value)};
        else more_.push_back({label, std::move(value)});
    }
    std::span<const CallArgument> span() const noexcept { return data_ ? std::span<const CallArgument>(data_, size_) : more_; }

private:
    std::array<CallArgument, 4> inline_;
    std::vector<CallArgument> more_;
    CallArgument* data_ = nullptr;
    std::size_t size_ = 0;
};

/// A call left to the caller's loop.
struct TailCall {
    Value function;                      // a closure; unit: none
    std::vector<CallArgument> arguments;
    Span call;
};

Value eval(const Term* term, Activation& activation, TailCall* tail = nullptr);

/// Raises an error of the script at a place that is no call.
[[noreturn]] void fail(Span span, const char* kind, std::string message) {
    RuntimeError error(kind, std::move(message));
    error.stack.insert(error.stack.begin(), span);
    throw error;
}

void store(const pat::Variable& v, Value value, Activation& a) {
    if (v.global) global_slot(v.slot) = std::move(value);
    else if (v.slot >= 0) a.locals[v.slot] = std::move(value);
}

void bind(const Pattern* pattern, Value value, Activation& a);

void bind_list(const Pattern& pattern, const pat::List& p, const Value& value, Activation& a) {
    std::span<const Value> elements = value.elements();
    std::size_t fixed = p.before.size() + p.after.size();
    if (elements.size() < fixed)
        fail(pattern.span, "not_found", fmt::format("The list has {} elements, the pattern wants {}{}.", elements.size(), p.rest ? "at least " : "", fixed));
    for (std::size_t i = 0; i < p.before.size(); ++i) bind(p.before[i], elements[i], a);
    if (p.rest) {
        auto rest = elements.subspan(p.before.size(), elements.size() - fixed);
        bind(p.rest, Value::list({rest.begin(), rest.end()}), a);
    }
    for (std::size_t i = 0; i < p.after.size(); ++i) bind(p.after[i], elements[elements.size() - p.after.size() + i], a);
}

void bind_record(const Pattern& pattern, const pat::Record& p, const Value& value, Activation& a) {
    for (const pat::Field& field : p.fields) {
        std::optional<Value> found = value.find_method(field.name);
        if (!found || (found->is_null() && field.default_value)) {
            if (field.default_value) found = eval(field.default_value, a);
            else if (field.optional || found) found = Value::null();
            else fail(pattern.span, "not_found", "The value has no method " + field.name.str() + ".");
        }
        if (field.pattern) bind(field.pattern, std::move(*found), a);
    }
    if (!p.base) return;
    MethodTable rest;
    for (auto& method : value.own_methods()) {
        bool named = false;
        for (const pat::Field& field : p.fields) named = named || field.name == method.first;
        if (!named) rest.push_back(std::move(method));
    }
    bind(p.base, ValueAccess::with_methods(value, std::move(rest)), a);
}

void bind(const Pattern* pattern, Value value, Activation& a) {
    if (auto* v = std::get_if<pat::Variable>(&pattern->node)) return store(*v, std::move(value), a);
    if (auto* tuple = std::get_if<pat::Tuple>(&pattern->node)) {
        std::span<const Value> elements = value.elements();
        assert(elements.size() >= tuple->elements.size());
        for (std::size_t i = 0; i < tuple->elements.size(); ++i) bind(tuple->elements[i], elements[i], a);
    } else if (auto* list = std::get_if<pat::List>(&pattern->node)) {
        bind_list(*pattern, *list, value, a);
    } else if (auto* record = std::get_if<pat::Record>(&pattern->node)) {
        bind_record(*pattern, *record, value, a);
    }
}

/// One step: each operator() gives the term to go on with, or null with `result` set.
struct Step {
    Activation& a;
    TailCall* tail;
    const Term* at;
    Value result;

    const Term* give(Value v) noexcept {
        result = std::move(v);
        return nullptr;
    }

    const Term* operator()(const term::Int& n) { return give(Value::integer(n.value)); }
    const Term* operator()(const term::Float& n) { return give(Value::floating(n.value)); }
    const Term* operator()(const term::String& n) { return give(Value::string(n.value)); }
    const Term* operator()(const term::Bool& n) { return give(Value::boolean(n.value)); }
    const Term* operator()(const term::Null&) { return give(Value::null()); }

    const Term* operator()(const term::Variable& n) {
        switch (n.scope) {
        case term::Scope::local: return give(a.locals[n.slot]);
        case term::Scope::captured: return give(a.captured[n.slot]);
        case term::Scope::global: return give(global_slot(n.slot));
        case term::Scope::unresolved: break;
        }
        throw ScriptError(Diagnostic{Severity::error, 4, at->span, "Undefined variable " + n.name.str()});
    }

    const Term* operator()(const term::Tuple& n) {
        std::vector<Value> elements;
        elements.reserve(n.elements.size());
        for (const Term* e : n.elements) elements.push_back(eval(e, a));
        return give(Value::tuple(std::move(elements)));
    }

    const Term* operator()(const term::List& n) {
        std::vector<Value> elements;
        elements.reserve(n.items.size());
        for (const term::ListItem& item : n.items) {
            Value v = eval(item.value, a);
            if (!item.spread) elements.push_back(std::move(v));
            else for (const Value& e : v.elements()) elements.push_back(e);
        }
        return give(Value::list(std::move(elements)));
    }

    const Term* operator()(const term::Function& n) {
        auto* closure = new ClosureObject(n);
        Value value = ValueAccess::function(closure);
        for (std::size_t i = 0; i < n.captures.size(); ++i) {
            const term::Capture& c = n.captures[i];
            closure->captured[i] = c.scope == term::Scope::local ? a.locals[c.slot] : a.captured[c.slot];
        }
        for (std::size_t i = 0; i < n.params.size(); ++i) {
            if (!n.params[i].default_value) continue;
            closure->defaults.resize(n.params.size());
            closure->defaults[i] = eval(n.params[i].default_value, a);
        }
        return give(std::move(value));
    }

    const Term* operator()(const term::Apply& n) {
        Value function = eval(n.function, a);
        assert(function.kind() == Value::Kind::function);
        auto* object = ValueAccess::function(function);
        if (tail && object->tag == FunctionObject::Tag::closure) {
            tail->arguments.clear();
            for (const term::Argument& argument : n.arguments) tail->arguments.push_back({argument.label, eval(argument.value, a)});
            tail->function = std::move(function);
            tail->call = at->span;
            return nullptr;
        }
        Arguments arguments(n.arguments.size());
        for (const term::Argument& argument : n.arguments) arguments.add(argument.label, eval(argument.value, a));
        check_stack();
        return give(object->apply(arguments.span(), at->span));
    }

    const Term* operator()(const term::Let& n) {
        Value value = eval(n.value, a);
        if (n.pattern) bind(n.pattern, std::move(value), a);
        return n.body ? n.body : give(Value());
    }

    const Term* operator()(const term::Decode& n) {
        static const Name eval_name("eval");
        Arguments options(n.options.size());
        for (const term::Argument& option : n.options) options.add(option.label, eval(option.value, a));
        Value input = eval(n.input, a);
        CallFrame frame(at->span);
        if (n.decoder == eval_name) return give(evaluator_hooks().evaluate_text(input.as_string(), at->type, at->span));
        DecodeFunction decode = find_decoder(n.decoder);
        if (!decode) fail(at->span, "not_found", "The decoder " + n.decoder.str() + " is not available.");
        return give(decode(*n.shape, options.span(), input));
    }

    const Term* operator()(const term::Sequence& n) {
        eval(n.first, a);
        return n.second;
    }

    const Term* operator()(const term::Methods& n) {
        Value base = n.base ? eval(n.base, a) : Value();
        MethodTable table = base.own_methods();
        auto put = [&table](Name name, Value v) {
            for (auto& [key, value] : table)
                if (key == name) return void(value = std::move(v));
            table.emplace_back(name, std::move(v));
        };
        for (const term::MethodValue& m : n.methods) put(m.name, eval(m.value, a));
        if (n.spread)
            for (auto& [name, value] : eval(n.spread, a).own_methods()) put(name, value);
        return give(ValueAccess::with_methods(base, std::move(table)));
    }

    const Term* operator()(const term::Invoke& n) {
        Value base = eval(n.base, a);
        std::optional<Value> found = base.find_method(n.method);
        if (found && !(n.otherwise && found->is_null())) return give(std::move(*found));
        if (n.otherwise) return n.otherwise;
        if (n.optional) return give(Value::null());
        fail(at->span, "invalid", fmt::format("The value {} has no method {}.", to_string(base, true), n.method.str()));
    }

    const Term* operator()(const term::Open& n) {
        Value record = eval(n.record, a);
        if (n.slot >= 0) a.locals[n.slot] = std::move(record);
        return n.body;
    }

    const Term* operator()(const term::Coalesce& n) {
        Value value = eval(n.value, a);
        if (value.is_null()) return n.otherwise;
        return give(std::move(value));
    }

    const Term* operator()(const term::And& n) { return eval(n.left, a).as_bool() ? n.right : give(Value::boolean(false)); }
    const Term* operator()(const term::Or& n) { return eval(n.left, a).as_bool() ? give(Value::boolean(true)) : n.right; }
    const Term* operator()(const term::If& n) {
        const Term* branch = eval(n.condition, a).as_bool() ? n.then : n.otherwise;
        return branch ? branch : give(Value());
    }

    const Term* operator()(const term::While& n) {
        while (eval(n.condition, a).as_bool()) eval(n.body, a);
        return give(Value());
    }

    const Term* operator()(const term::For& n) {
        std::int64_t from = eval(n.from, a).as_int(), to = eval(n.to, a).as_int();
        for (std::int64_t i = from; i <= to; ++i) {
            if (n.variable) bind(n.variable, Value::integer(i), a);
            eval(n.body, a);
            if (i == to) break;
        }
        return give(Value());
    }

    const Term* operator()(const term::ForIn& n) {
        Value iterator = eval(n.iterator, a);
        for (;;) {
            Value item = ValueAccess::apply(iterator, {}, at->span);
            if (item.is_null()) break;
            if (n.variable) bind(n.variable, std::move(item), a);
            eval(n.body, a);
        }
        return give(Value());
    }

    const Term* operator()(const term::Try& n) {
        if (!n.finally) {
            if (!n.handler) return n.body;
            return body_or_handler(n) ? nullptr : n.handler;
        }
        try {
            if (!n.handler) result = eval(n.body, a);
            else if (!body_or_handler(n)) result = eval(n.handler, a);
        } catch (const RuntimeError&) {
            eval(n.finally, a);
            throw;
        } catch (const ScriptError&) {  // an encoder that cannot be made
            eval(n.finally, a);
            throw;
        }
        eval(n.finally, a);
        return nullptr;
    }

    /// True: the body's result is there. False: an error is bound and the handler's turn has come.
    bool body_or_handler(const term::Try& n) {
        Value caught;
        try {
            result = eval(n.body, a);
            return true;
        } catch (const RuntimeError& e) {
            caught = to_value(e);
            if (!handles(n, e)) throw;
        } catch (const ScriptError& e) {
            // An encoder that cannot be made: told with its place when nobody catches it.
            const RuntimeError error("encoder", e.diagnostic().message);
            caught = to_value(error);
            if (!handles(n, error)) throw;
        }
        if (n.error) bind(n.error, std::move(caught), a);
        return false;
    }

    bool handles(const term::Try& n, const RuntimeError& e) {
        if (!n.errors) return true;
        Value errors = eval(n.errors, a);
        if (errors.kind() != Value::Kind::list) return error_info(errors).kind == e.kind();
        for (const Value& error : errors.elements())
            if (error_info(error).kind == e.kind()) return true;
        return false;
    }

    const Term* operator()(const term::Ascribe& n) { return n.value; }

    const Term* operator()(const term::ToFloat& n) {
        Value value = eval(n.value, a);
        if (value.kind() != Value::Kind::integer) return give(std::move(value));
        return give(ValueAccess::with_methods(Value::floating(value.as_float()), value.own_methods()));
    }

    const Term* operator()(const term::Encoder& n) {
        auto literal = encoder(n, at->span);
        if (!evaluator_hooks().encoder_maker)
            throw ScriptError(Diagnostic{Severity::error, 12, at->span, "Unsupported encoder: %" + n.name.str() + "."});
        try {
            return give(evaluator_hooks().encoder_maker(*literal));
        } catch (const Error& e) {
            throw ScriptError(Diagnostic{Severity::error, 8, at->span, e.what()});
        }
    }

    std::shared_ptr<EncoderLiteral> encoder(const term::Encoder& n, Span span) {
        auto literal = std::make_shared<EncoderLiteral>();
        literal->name = n.name;
        literal->span = span;
        for (const term::EncoderParam& p : n.params) {
            EncoderLiteral::Param param{p.label, Value(), nullptr, p.word, span};
            if (p.value) {
                param.value = eval(p.value, a);
                param.span = p.value->span;
            }
            if (p.encoder) {
                param.span = p.encoder->span;
                param.encoder = encoder(std::get<term::Encoder>(p.encoder->node), p.encoder->span);
            }
            literal->params.push_back(std::move(param));
        }
        return literal;
    }
};

Value eval(const Term* term, Activation& activation, TailCall* tail) {
    Step step{activation, tail, term, Value()};
    check_stack();
    while (term) {
        step.at = term;
        term = std::visit(step, term->node);
    }
    return std::move(step.result);
}

/// The slots of one activation, given back at its end.
class Frame {
public:
    explicit Frame(std::size_t n) : stack_(local_stack()), count_(n), locals_(stack_.push(n)) {}
    ~Frame() { stack_.pop(count_); }
    Frame(const Frame&) = delete;
    Value* locals() const noexcept { return locals_; }

private:
    LocalStack& stack_;
    std::size_t count_;
    Value* locals_;
};

std::string function_name(const term::Function& f) { return f.name.empty() ? "this function" : f.name.str(); }

void place_arguments(const ClosureObject& closure, Value* locals, std::span<const CallArgument> arguments) {
    const auto& params = closure.function.params;
    const std::size_t n = params.size();
    std::uint64_t given = 0;
    assert(n <= 64);
    std::size_t first_free = 0;
    for (const CallArgument& argument : arguments) {
        std::size_t i = argument.label.empty() ? first_free : 0;
        while (i < n && ((given >> i & 1) || !(params[i].label == argument.label))) ++i;
        if (i == n) {
            std::string what = argument.label.empty() ? "unlabeled argument" : "argument labeled \"" + argument.label.str() + "\"";
            throw RuntimeError("invalid", function_name(closure.function) + " has no more " + what + ".");
        }
        if (argument.label.empty()) first_free = i + 1;
        given |= std::uint64_t{1} << i;
        locals[i] = argument.value;
    }
    for (std::size_t i = 0; i < n; ++i) {
        if (given >> i & 1) continue;
        if (!params[i].default_value) throw RuntimeError("invalid", function_name(closure.function) + ": an argument is missing.");
        locals[i] = closure.defaults[i];
    }
}

/// One activation of a closure; what it leaves in `tail` is for the caller's loop.
Value run(const Value& self, const ClosureObject& closure, std::span<const CallArgument> arguments, TailCall& tail) {
    const term::Function& f = closure.function;
    Frame frame(static_cast<std::size_t>(f.locals));
    Activation activation{frame.locals(), closure.captured.data()};
    place_arguments(closure, activation.locals, arguments);
    if (f.self_slot >= 0) activation.locals[f.self_slot] = self;
    for (std::size_t i = 0; i < f.params.size(); ++i) {
        const Pattern* pattern = f.params[i].pattern;
        if (pattern && !std::holds_alternative<pat::Variable>(pattern->node)) bind(pattern, activation.locals[i], activation);
    }
    return eval(f.body, activation, &tail);
}

Value ClosureObject::apply(std::span<const CallArgument> arguments, Span call) const {
    CallFrame frame(call);
    TailCall tail;
    Value self = ValueAccess::function(this);
    Value result = run(self, *this, arguments, tail);
    std::vector<CallArgument> next;
    while (!tail.function.is_unit()) {
        self = std::exchange(tail.function, Value());
        next.swap(tail.arguments);
        tail.arguments.clear();
        frame.replace(tail.call);
        result = run(self, *static_cast<const ClosureObject*>(ValueAccess::function(self)), next, tail);
        next.clear();
    }
    return result;
}

std::string ClosureObject::describe() const {
    std::string out;
    for (const term::Param& p : function.params) {
        out += out.empty() ? "" : ", ";
        auto* v = p.pattern ? std::get_if<pat::Variable>(&p.pattern->node) : nullptr;
        std::string name = v ? v->name.str() : "_";
        out += p.label.empty() ? name : p.label.str() == name ? "~" + name : "~" + p.label.str() + ":" + name;
        std::size_t i = static_cast<std::size_t>(&p - function.params.data());
        if (p.default_value) out += "=" + to_string(defaults[i], true);
    }
    auto ground = [](const Term* t) -> std::optional<Value> {
        if (auto* n = std::get_if<term::Int>(&t->node)) return Value::integer(n->value);
        if (auto* n = std::get_if<term::Float>(&t->node)) return Value::floating(n->value);
        if (auto* n = std::get_if<term::Bool>(&t->node)) return Value::boolean(n->value);
        if (std::holds_alternative<term::Null>(t->node)) return Value::null();
        auto* n = std::get_if<term::Variable>(&t->node);   // a string constant
        if (n && n->scope == term::Scope::global && n->name.empty() && global_slot(n->slot).kind() == Value::Kind::string) return global_slot(n->slot);
        return std::nullopt;
    };
    std::optional<Value> constant = ground(function.body);
    if (constant && function.params.empty()) return "{" + to_string(*constant, true) + "}";
    return "fun (" + out + ") -> " + (constant ? to_string(*constant, true) : "...");
}

std::string print_error(const void* p) {
    auto& e = *static_cast<const ErrorInfo*>(p);
    std::string where;
    for (Span s : e.stack) where += (where.empty() ? "" : ", ") + source_map().describe(s);
    std::string positions = where.empty() ? "" : ",positions=" + quote_text(where);
    return fmt::format("error(kind={},message={}{})", quote_text(e.kind), quote_text(e.message), positions);
}

}  // namespace

EvaluatorHooks& evaluator_hooks() {
    static EvaluatorHooks hooks;
    return hooks;
}

Value evaluate(const Program& program) {
    Frame frame(static_cast<std::size_t>(program.locals));
    Activation activation{frame.locals(), nullptr};
    return eval(program.term, activation);
}

const ForeignKind error_kind{"error", print_error, [](const void* a, const void* b) {
    int c = static_cast<const ErrorInfo*>(a)->kind.compare(static_cast<const ErrorInfo*>(b)->kind);
    return c < 0 ? -1 : c > 0;
}};

Value to_value(const RuntimeError& e) {
    return Value::foreign(error_kind, std::make_shared<ErrorInfo>(ErrorInfo{e.kind(), e.message(), e.stack}));
}

Value error_value(std::string kind, std::string message) {
    return Value::foreign(error_kind, std::make_shared<ErrorInfo>(ErrorInfo{std::move(kind), std::move(message), {}}));
}

Diagnostic to_diagnostic(const RuntimeError& e) {
    std::string stack;
    for (Span s : e.stack) {
        std::string where = source_map().describe(s);
        if (!where.empty()) where[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(where[0])));
        stack += where + "\n";
    }
    Span at = e.stack.empty() ? Span{} : e.stack.front();
    return {Severity::error, 14, at,
            fmt::format("Uncaught runtime error: type: {}, message: {},\nstack: {}", e.kind(), quote_text(e.message()), stack)};
}

const ErrorInfo& error_info(const Value& error) { return *static_cast<const ErrorInfo*>(error.foreign_pointer().get()); }

bool always_true(const Value& value) noexcept {
    if (value.kind() == Value::Kind::boolean) return value.as_bool();
    if (value.kind() != Value::Kind::function) return false;
    const FunctionObject* function = ValueAccess::function(value);
    if (function->tag != FunctionObject::Tag::closure) return false;
    const auto* body = std::get_if<term::Bool>(&static_cast<const ClosureObject*>(function)->function.body->node);
    return body && body->value;
}

}  // namespace castile::lang
