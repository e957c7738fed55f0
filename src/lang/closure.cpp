// Closures and the frames of their calls.

#include <new>

#include "lang/code.h"
#include "lang/globals.h"

namespace castile::lang {

namespace {

std::string name_of(const FunctionCode& code) { return code.function->name.empty() ? "this function" : code.function->name.str(); }

/// A constant as written, when the term is one.
std::optional<Value> constant(const Term* t) {
    if (auto* n = std::get_if<term::Int>(&t->node)) return Value::integer(n->value);
    if (auto* n = std::get_if<term::Float>(&t->node)) return Value::floating(n->value);
    if (auto* n = std::get_if<term::Bool>(&t->node)) return Value::boolean(n->value);
    if (std::holds_alternative<term::Null>(t->node)) return Value::null();
    auto* n = std::get_if<term::Variable>(&t->node);   // strings are kept in global slots without a name
    if (n && n->scope == term::Scope::global && n->name.empty() && global_slot(n->slot).kind() == Value::Kind::string) return global_slot(n->slot);
    return std::nullopt;
}

}  // namespace

ClosureObject* ClosureObject::make(const FunctionCode& code) {
    void* memory = ::operator new(sizeof(ClosureObject) + code.values * sizeof(Value));
    auto* closure = new (memory) ClosureObject(code);
    std::uninitialized_value_construct_n(closure->values(), code.values);
    return closure;
}

ClosureObject::~ClosureObject() { std::destroy_n(values(), code.values); }

Value ClosureObject::apply(std::span<const CallArgument> arguments, Span call) const {
    Value self = ValueAccess::function(this);   // whoever holds it may let go meanwhile
    Frame frame(thread_stack, *this);
    Placement placement(code);
    for (const CallArgument& argument : arguments) frame.locals[placement.place(argument.label)] = argument.value;
    placement.defaults(*this, frame.locals);
    return frame.run(call);
}

Value ClosureObject::apply(std::span<const Value> positional, Span call) const {
    Value self = ValueAccess::function(this);
    Frame frame(thread_stack, *this);
    if (!code.labelled && positional.size() == code.params.size()) {
        std::copy(positional.begin(), positional.end(), frame.locals);
        return frame.run(call);
    }
    Placement placement(code);
    for (const Value& argument : positional) frame.locals[placement.place(Name())] = argument;
    placement.defaults(*this, frame.locals);
    return frame.run(call);
}

std::string ClosureObject::describe() const {
    std::string out;
    for (std::size_t i = 0; i < code.params.size(); ++i) {
        const term::Param& p = code.function->params[i];
        out += out.empty() ? "" : ", ";
        auto* v = p.pattern ? std::get_if<pat::Variable>(&p.pattern->node) : nullptr;
        std::string name = v ? v->name.str() : "_";
        out += p.label.empty() ? name : p.label.str() == name ? "~" + name : "~" + p.label.str() + ":" + name;
        if (code.params[i].has_default) out += "=" + to_string(values()[code.params[i].default_index], true);
    }
    std::optional<Value> body = constant(code.function->body);
    if (body && code.params.empty()) return "{" + to_string(*body, true) + "}";
    return "fun (" + out + ") -> " + (body ? to_string(*body, true) : "...");
}

std::size_t Placement::place(Name label) {
    const std::size_t n = code_.params.size();
    std::size_t i = label.empty() ? first_free_ : 0;
    while (i < n && ((given_ >> i & 1) || !(code_.params[i].label == label))) ++i;
    if (i == n) {
        std::string what = label.empty() ? "unlabeled argument" : "argument labeled \"" + label.str() + "\"";
        throw RuntimeError("invalid", name_of(code_) + " has no more " + what + ".");
    }
    if (label.empty()) first_free_ = i + 1;
    given_ |= std::uint64_t{1} << i;
    return i;
}

void Placement::defaults(const ClosureObject& closure, Value* locals) const {
    for (std::size_t i = 0; i < code_.params.size(); ++i) {
        if (given_ >> i & 1) continue;
        if (!code_.params[i].has_default) throw RuntimeError("invalid", name_of(code_) + ": an argument is missing.");
        locals[i] = closure.values()[code_.params[i].default_index];
    }
}

Frame::Frame(ThreadStack& thread, const ClosureObject& closure)
    : stack(thread), locals((check_stack(thread), thread.push(closure.code.locals))), captured(closure.values()),
      count_(closure.code.locals), closure_(&closure) {}

Value Frame::run(Span call) {
    CallFrame trace(stack, call);
    enter();
    Value result = closure_->code.body->run(*this);
    while (!next_.is_unit()) {
        trace.replace(next_call_);
        replace();
        enter();
        result = closure_->code.body->run(*this);
    }
    return result;
}

/// What the function finds besides its arguments.
void Frame::enter() const {
    const FunctionCode& code = closure_->code;
    if (code.self_slot >= 0) locals[code.self_slot] = ValueAccess::function(closure_);
    if (!code.takes_apart) return;
    for (std::size_t i = 0; i < code.params.size(); ++i)
        if (code.params[i].binder) code.params[i].binder->bind(locals[i], const_cast<Frame&>(*this));
}

/// Puts the function called last in the place of the one that ran.
void Frame::replace() {
    Value* arguments = locals + count_;
    for (std::size_t i = 0; i < count_; ++i) locals[i] = Value();
    running_ = std::move(next_);
    closure_ = static_cast<const ClosureObject*>(ValueAccess::function(running_));
    captured = closure_->values();
    const FunctionCode& code = closure_->code;
    for (std::size_t i = 0; i < code.params.size(); ++i) locals[i] = std::move(arguments[i]);
    count_ = code.locals;
    stack.pop(locals + count_);
}

}  // namespace castile::lang
