// Values: construction, sharing, methods, calls.

#include "lang/value.h"

#include <algorithm>
#include <cassert>

#include "lang/builtin_table.h"
#include "lang/objects.h"

namespace castile::lang {

namespace {

thread_local const Object* dying = nullptr;   // first of the objects whose destruction waits
thread_local bool destroying = false;

void release(const Object* object) noexcept {
    if (std::atomic_ref(object->count_).fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (destroying) {
        object->next_ = dying;
        dying = object;
        return;
    }
    destroying = true;
    delete object;
    while (dying) {
        const Object* next = dying;
        dying = next->next_;
        delete next;
    }
    destroying = false;
}

bool on_heap(Value::Kind kind) noexcept {
    using enum Value::Kind;
    return kind == string || kind == list || kind == tuple || kind == function || kind == foreign;
}

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

Value::Value() noexcept = default;

Value::Value(const Value& o) noexcept : kind_(o.kind_), boxed_(o.boxed_), payload_(o.payload_) {
    if ((boxed_ || on_heap(kind_)) && payload_.object)
        std::atomic_ref(payload_.object->count_).fetch_add(1, std::memory_order_relaxed);
}

Value::Value(Value&& o) noexcept : kind_(o.kind_), boxed_(o.boxed_), payload_(o.payload_) {
    o.kind_ = Kind::tuple;
    o.boxed_ = false;
    o.payload_.object = nullptr;
}

Value& Value::operator=(Value o) noexcept {
    std::swap(kind_, o.kind_);
    std::swap(boxed_, o.boxed_);
    std::swap(payload_, o.payload_);
    return *this;
}

Value::~Value() {
    if ((boxed_ || on_heap(kind_)) && payload_.object) release(payload_.object);
}

Value Value::null() noexcept {
    Value v;
    v.kind_ = Kind::null;
    return v;
}

Value Value::boolean(bool b) noexcept {
    Value v;
    v.kind_ = Kind::boolean;
    v.payload_.boolean = b;
    return v;
}

Value Value::integer(std::int64_t i) noexcept {
    Value v;
    v.kind_ = Kind::integer;
    v.payload_.integer = i;
    return v;
}

Value Value::floating(double d) noexcept {
    Value v;
    v.kind_ = Kind::floating;
    v.payload_.floating = d;
    return v;
}

Value Value::string(std::string s) { return ValueAccess::make(Kind::string, new StringObject(std::move(s))); }

Value Value::tuple(std::vector<Value> elements) {
    if (elements.empty()) return Value();
    return ValueAccess::make(Kind::tuple, new ElementsObject(std::move(elements)));
}

Value Value::list(std::vector<Value> elements) {
    return ValueAccess::make(Kind::list, elements.empty() ? nullptr : new ElementsObject(std::move(elements)));
}

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

Value::Kind Value::kind() const noexcept { return kind_; }

const Object* Value::object() const noexcept {
    if (boxed_) return static_cast<const MethodsObject*>(payload_.object)->base.object();
    return on_heap(kind_) ? payload_.object : nullptr;
}

bool Value::as_bool() const noexcept {
    assert(kind_ == Kind::boolean);
    return boxed_ ? ValueAccess::methods(*this)->base.payload_.boolean : payload_.boolean;
}

std::int64_t Value::as_int() const noexcept {
    assert(kind_ == Kind::integer);
    return boxed_ ? ValueAccess::methods(*this)->base.payload_.integer : payload_.integer;
}

double Value::as_float() const noexcept {
    if (boxed_) return ValueAccess::methods(*this)->base.as_float();
    if (kind_ == Kind::integer) return static_cast<double>(payload_.integer);
    assert(kind_ == Kind::floating);
    return payload_.floating;
}

const std::string& Value::as_string() const noexcept {
    assert(kind_ == Kind::string);
    return static_cast<const StringObject*>(object())->text;
}

std::span<const Value> Value::elements() const noexcept {
    assert(kind_ == Kind::list || kind_ == Kind::tuple);
    const Object* o = object();
    if (!o) return {};
    return static_cast<const ElementsObject*>(o)->elements;
}

const ForeignKind* Value::foreign_kind() const noexcept {
    return kind_ == Kind::foreign ? &static_cast<const ForeignObject*>(object())->kind : nullptr;
}

std::shared_ptr<void> Value::foreign_pointer() const {
    assert(kind_ == Kind::foreign);
    return static_cast<const ForeignObject*>(object())->pointer;
}

const Value* Value::own_method(Name name) const noexcept {
    if (!boxed_) return nullptr;
    for (const auto& [key, value] : ValueAccess::methods(*this)->methods)
        if (key == name) return &value;
    return nullptr;
}

Value Value::with_method(Name name, Value method) const {
    MethodTable table;
    if (boxed_) table = ValueAccess::methods(*this)->methods;
    auto it = std::ranges::find(table, name, &MethodTable::value_type::first);
    if (it != table.end()) it->second = std::move(method);
    else table.emplace_back(name, std::move(method));
    return ValueAccess::with_methods(*this, std::move(table));
}

std::vector<std::pair<Name, Value>> Value::own_methods() const {
    return boxed_ ? ValueAccess::methods(*this)->methods : MethodTable{};
}

Value Value::without_methods() const noexcept { return boxed_ ? ValueAccess::methods(*this)->base : *this; }

std::optional<Value> Value::find_method(Name name) const {
    if (const Value* own = own_method(name)) return *own;
    if (kind_ == Kind::foreign) return foreign_method(*this, name);
    if (kind_ == Kind::function) {
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

Value ValueAccess::with_methods(const Value& base, MethodTable methods) {
    Value bare = base.without_methods();
    if (methods.empty()) return bare;
    Value::Kind kind = bare.kind();
    return make(kind, new MethodsObject(std::move(bare), std::move(methods)), true);
}

Value ValueAccess::apply(const Value& function, std::span<const CallArgument> arguments, Span call) {
    assert(function.kind() == Value::Kind::function);
    check_stack();
    return ValueAccess::function(function)->apply(arguments, call);
}

Value Value::call(std::span<const CallArgument> arguments) const { return ValueAccess::apply(*this, arguments, Span{}); }

Value Value::call() const { return call(std::span<const CallArgument>{}); }

Value Value::call(std::initializer_list<Value> positional) const {
    std::vector<CallArgument> arguments;
    arguments.reserve(positional.size());
    for (const Value& v : positional) arguments.push_back({Name(), v});
    return call(arguments);
}

Value Value::get() const { return kind_ == Kind::function ? call() : *this; }

Value ReferenceObject::load() const {
    while (cell_lock_.test_and_set(std::memory_order_acquire)) cell_lock_.wait(true, std::memory_order_relaxed);
    Value copy = content;
    cell_lock_.clear(std::memory_order_release);
    cell_lock_.notify_one();
    return copy;
}

void ReferenceObject::store(Value v) const {
    while (cell_lock_.test_and_set(std::memory_order_acquire)) cell_lock_.wait(true, std::memory_order_relaxed);
    std::swap(content, v);   // the old content dies after the lock is gone
    cell_lock_.clear(std::memory_order_release);
    cell_lock_.notify_one();
}

Value ReferenceObject::apply(std::span<const CallArgument>, Span) const { return load(); }

std::string ReferenceObject::describe() const { return "ref(" + to_string(load(), true) + ")"; }

}  // namespace castile::lang
