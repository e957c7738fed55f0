#include "script/args.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "lang/diag.h"

namespace castile::script {

SourcePtr Args::source(std::size_t i) const { return source_from_value(value(i)); }
Track Args::track(std::size_t i) const { return track_from_value(value(i)); }
FormatPtr Args::format(std::size_t i) const { return format_from_value(value(i)); }
std::string Args::string(std::size_t i) const { return value_as<std::string>(value(i)); }
std::optional<std::string> Args::optional_string(std::size_t i) const { return value_as<std::optional<std::string>>(value(i)); }
int Args::integer(std::size_t i) const { return value_as<int>(value(i)); }
std::optional<int> Args::optional_integer(std::size_t i) const { return value_as<std::optional<int>>(value(i)); }
double Args::floating(std::size_t i) const { return value_as<double>(value(i)); }
std::optional<double> Args::optional_floating(std::size_t i) const { return value_as<std::optional<double>>(value(i)); }
bool Args::boolean(std::size_t i) const { return value_as<bool>(value(i)); }

std::vector<SourcePtr> Args::sources(std::size_t i) const {
    const auto elements = value(i).elements();
    std::vector<SourcePtr> result(elements.size());
    std::ranges::transform(elements, result.begin(), source_from_value);
    return result;
}

std::vector<std::string> Args::strings(std::size_t i) const {
    const auto elements = value(i).elements();
    std::vector<std::string> result(elements.size());
    std::ranges::transform(elements, result.begin(), value_as<std::string>);
    return result;
}

MetadataPtr Args::metadata(std::size_t i) const { return std::make_shared<const Metadata>(metadata_from_value(value(i))); }

std::function<void()> Args::callback(std::size_t i) const {
    if (is_null(i)) return {};
    return [callback = Callback(value(i), false, function_.empty() ? "a callback" : "a callback of " + function_)] { callback(); };
}

std::function<void(MetadataPtr)> Args::metadata_callback(std::size_t i) const {
    if (is_null(i)) return {};
    return [callback = Callback(value(i), false, function_.empty() ? "a callback" : "a callback of " + function_)](MetadataPtr m) {
        callback({{Name(), to_value(m)}});
    };
}

void Args::invalid(std::size_t, const std::string& message) const { throw_invalid(call_site(), function_, message); }

void Args::deprecated_argument(const std::string& label, const std::string& advice) const {
    static std::mutex warned_mutex;
    static std::set<std::string> warned;
    {
        std::lock_guard lock(warned_mutex);
        if (!warned.insert(function_ + "." + label).second) return;
    }
    static const Logger log("lang.deprecations");
    log.severe("{}: the argument `{}` is deprecated: {}", function_, label, advice);
}

void throw_invalid(lang::Span call_site, const std::string& function, const std::string& message) {
    lang::Diagnostic diagnostic;
    diagnostic.code = 7;
    diagnostic.span = call_site;
    diagnostic.message = "Invalid value: " + (function.empty() ? "" : function + ": ") + message;
    throw lang::ScriptError(std::move(diagnostic));
}

}  // namespace castile::script
