// Values that live as long as the process are not counted.

#include "lang/code.h"

namespace castile::lang {

namespace {

using Bits = ValueAccess::Bits;

/// What it is made of, except for the content of references, which changes.
template <class F> void each_part(const Bits& bits, F f) {
    const Object* object = bits.payload.object;
    if (bits.boxed) {
        auto* with_methods = static_cast<const MethodsObject*>(object);
        f(with_methods->base);
        for (const auto& [name, method] : with_methods->methods) f(method);
    } else if (bits.kind == Value::Kind::list || bits.kind == Value::Kind::tuple) {
        const Value* end = static_cast<const ElementsObject*>(object)->end();
        for (const Value* v = end - bits.length; v != end; ++v) f(*v);
    } else if (bits.kind == Value::Kind::function) {
        auto* function = static_cast<const FunctionObject*>(object);
        if (function->tag != FunctionObject::Tag::closure) return;
        auto* closure = static_cast<const ClosureObject*>(function);
        for (std::size_t i = 0; i < closure->code.values; ++i) f(closure->values()[i]);
    }
}

}  // namespace

void make_immortal(const Value& value) {
    std::vector<Bits> found;
    auto visit = [&found](const Value& v) {
        const Bits& bits = ValueAccess::bits(v);
        if (bits.owns && bits.payload.object->make_immortal()) found.push_back(bits);
    };
    visit(value);
    while (!found.empty()) {
        const Bits bits = found.back();
        found.pop_back();
        each_part(bits, visit);
    }
}

}  // namespace castile::lang
