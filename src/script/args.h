#pragma once
// The arguments of an operator as C++ values.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codec/format.h"
#include "lang/builtin.h"
#include "source/source.h"

namespace castile::script {

/// A {t} argument: a constant, or a script function asked each time. Called on the clock's worker; an error in the
/// function is logged once and the last good value kept.
template <class T>
class Getter {
public:
    Getter(T constant) : last_(std::move(constant)) {}
    explicit Getter(lang::Value function, T first) : function_(std::move(function)), last_(std::move(first)) {}
    const T& get() const noexcept;               ///< T: float (from float values), double, int, bool, std::string
    bool constant() const noexcept { return !function_; }

private:
    std::optional<lang::Value> function_;
    mutable T last_;
};

/// One accessor per kind, by parameter index (an enum beside the declaration). Wrong kinds assert: the checker made sure.
class Args {
public:
    explicit Args(const lang::BuiltinArgs& values) : values_(values) {}

    const lang::Value& value(std::size_t i) const { return values_[i]; }
    bool is_null(std::size_t i) const { return values_[i].is_null(); }
    SourcePtr source(std::size_t i) const;
    std::vector<SourcePtr> sources(std::size_t i) const;     ///< [source]
    Track track(std::size_t i) const;
    FormatPtr format(std::size_t i) const;
    std::string string(std::size_t i) const;
    std::optional<std::string> optional_string(std::size_t i) const;   ///< string?
    int integer(std::size_t i) const;
    std::optional<int> optional_integer(std::size_t i) const;
    double floating(std::size_t i) const;
    std::optional<double> optional_floating(std::size_t i) const;
    bool boolean(std::size_t i) const;
    template <class T> Getter<T> getter(std::size_t i) const;
    MetadataPtr metadata(std::size_t i) const;                ///< [(string * string)]
    /// A script callback to be run as normal work (posted to the scheduler, in order per callback); errors are logged.
    std::function<void()> callback(std::size_t i) const;
    std::function<void(MetadataPtr)> metadata_callback(std::size_t i) const;
    lang::Span call_site() const { return values_.call_site(); }
    /// Throws ScriptError 7 (invalid value) at the call: "output.icecast: That source is fallible."
    [[noreturn]] void invalid(std::size_t i, const std::string& message) const;

private:
    const lang::BuiltinArgs& values_;
};

}  // namespace castile::script
