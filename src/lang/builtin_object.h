#pragma once
// Builtins as function values. For lang/ only.

#include <mutex>
#include <string_view>
#include <vector>

#include "lang/builtin.h"
#include "lang/objects.h"

namespace castile::lang {

/// Parameters as calls need them; the defaults are evaluated at the first call that omits one.
class Signature {
public:
    explicit Signature(const std::vector<BuiltinParam>& params);
    std::size_t size() const noexcept { return labels_.size(); }
    Name label(std::size_t i) const noexcept { return labels_[i]; }
    bool optional(std::size_t i) const noexcept { return params_[i].default_value != nullptr; }
    const Value& default_of(std::size_t i);
    const std::vector<BuiltinParam>& params() const noexcept { return params_; }

private:
    void evaluate_defaults();

    const std::vector<BuiltinParam>& params_;
    std::vector<Name> labels_;
    std::once_flag defaults_once_;
    std::vector<Value> defaults_;
};

/// A declared function: puts arguments in the declared order, fills in defaults.
class DeclaredObject : public FunctionObject {
public:
    DeclaredObject(Signature& signature, std::string_view name) : FunctionObject(Tag::builtin), signature_(signature), name_(name) {}
    Value apply(std::span<const CallArgument> arguments, Span call) const override;
    Value apply(std::span<const Value> positional, Span call) const override;
    std::string describe() const override;

    /// One value for each parameter, in order.
    Value call(std::span<const Value> values, Span call) const;
    Signature& signature() const noexcept { return signature_; }
    std::string_view name() const noexcept { return name_; }

protected:
    virtual Value invoke(const BuiltinArgs& args) const = 0;

private:
    Signature& signature_;
    std::string_view name_;   // of the declaration
};

}  // namespace castile::lang
