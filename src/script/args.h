#pragma once
// The arguments of an operator as C++ values.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codec/format.h"
#include "lang/builtin.h"
#include "script/callback.h"
#include "script/values.h"
#include "source/source.h"

namespace castile::script {

/// A {t} argument: a constant, or a script function asked each time. Called on the clock's worker; an error in the
/// function is logged once and the last good value kept.
template <class T>
class Getter {
public:
    Getter(T constant) : last_(std::move(constant)) {}
    explicit Getter(lang::Value function, T first) : function_(std::move(function)), last_(std::move(first)) {}
    const T& get() const noexcept {              ///< T: what value_as (script/values.h) knows
        if (function_) ask();
        return last_;
    }
    bool constant() const noexcept { return !function_; }

private:
    void ask() const noexcept {
        try {
            last_ = value_as<T>(function_->call());
            failed_ = false;
        } catch (...) {
            if (!failed_) log_script_error("a getter");
            failed_ = true;
        }
    }
    std::optional<lang::Value> function_;
    mutable T last_;
    mutable bool failed_ = false;
};

/// One accessor per kind, by parameter index (an enum beside the declaration). Wrong kinds assert: the checker made sure.
class Args {
public:
    explicit Args(const lang::BuiltinArgs& values, std::string function = {}) : values_(values), function_(std::move(function)) {}

    const lang::Value& value(std::size_t i) const { return values_[i]; }
    bool is_null(std::size_t i) const { return values_[i].is_null(); }
    const std::string& function() const noexcept { return function_; }   ///< the operator's name in the script
    SourcePtr source(std::size_t i) const;
    std::vector<SourcePtr> sources(std::size_t i) const;     ///< [source]
    Track track(std::size_t i) const;
    FormatPtr format(std::size_t i) const;
    std::string string(std::size_t i) const;
    std::optional<std::string> optional_string(std::size_t i) const;   ///< string?
    std::vector<std::string> strings(std::size_t i) const;             ///< [string]
    int integer(std::size_t i) const;
    std::optional<int> optional_integer(std::size_t i) const;
    double floating(std::size_t i) const;
    std::optional<double> optional_floating(std::size_t i) const;
    bool boolean(std::size_t i) const;
    /// The function of a getter is not asked before the first get(); `first` is its value if that fails.
    template <class T> Getter<T> getter(std::size_t i, T first = {}) const {
        const lang::Value& v = value(i);
        if (v.kind() == lang::Value::Kind::function) return Getter<T>(v, std::move(first));
        return Getter<T>(value_as<T>(v));
    }
    MetadataPtr metadata(std::size_t i) const;                ///< [(string * string)]
    /// A script callback to be run as normal work (posted to the scheduler, in order per callback); errors are logged.
    /// Empty when the argument is null.
    std::function<void()> callback(std::size_t i) const;
    std::function<void(MetadataPtr)> metadata_callback(std::size_t i) const;
    lang::Span call_site() const { return values_.call_site(); }
    /// Throws ScriptError 7 (invalid value) at the call: "output.icecast: That source is fallible."
    [[noreturn]] void invalid(std::size_t i, const std::string& message) const;
    /// Logs once a process that an argument is an old spelling: "amplify: argument `x` is deprecated: use `y` instead."
    void deprecated_argument(const std::string& label, const std::string& advice) const;

private:
    const lang::BuiltinArgs& values_;
    std::string function_;
};

/// Throws ScriptError 7 at `call_site`: "Invalid value: function: message".
[[noreturn]] void throw_invalid(lang::Span call_site, const std::string& function, const std::string& message);

}  // namespace castile::script
