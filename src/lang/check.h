#pragma once
// The checker: infers the type of every term, refuses ill-typed scripts, inserts int-to-float casts.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lang/arena.h"
#include "lang/diag.h"
#include "lang/term.h"

namespace castile::lang {

/// The type of an encoder literal, given by whoever knows formats: the text of the content type, such as
/// "format(audio=pcm(stereo))". Called with the literal; throws ScriptError for an unknown encoder.
using EncoderTyper = std::function<std::string(const term::Encoder&, Span)>;

/// The types of everything global: builtins, then the standard library, then scripts, each extending it.
class TypeEnvironment {
public:
    TypeEnvironment();
    ~TypeEnvironment();
    TypeEnvironment(TypeEnvironment&&) noexcept;
    /// Declares a global of a type in the script's syntax; dotted names nest ("list.map" becomes method map of list).
    void declare(Name name, std::string_view type_text);
    /// A method that every value of a type constructor has: declare_method("source", "skip", "() -> unit").
    void declare_method(Name constructor, Name method, std::string_view type_text);
    void set_encoder_typer(EncoderTyper typer);
    /// Warning 5 with this message ("Use `x` instead.") at the first use of a global.
    void deprecate(Name name, std::string_view message);
    /// All that is declared so far is the library's: binding it anew is told (6), and scripts are warned about deprecated names.
    void end_library();
    bool defined(std::string_view dotted_name) const;
    std::string type_of(std::string_view dotted_name) const;   ///< printed; empty when unknown
    std::vector<std::string> names() const;                     ///< globals, dotted, sorted (completion, did you mean)

    struct Impl;
    Impl& impl() const noexcept { return *impl_; }

private:
    std::unique_ptr<Impl> impl_;
};

struct CheckResult {
    std::vector<Diagnostic> warnings;
    Type* type = nullptr;              ///< of the whole term
};

/// A library is checked without warnings, and its names are then the library's (binding them anew is warning 6).
enum class CheckRole : std::uint8_t { script, library };

/// Types `term` in `environment`; its top-level definitions are added to the environment. Throws ScriptError (4, 5, 6, ...), and the
/// environment is then as it was. Terms, hence `arena`, must live as long as the environment: %argsof reads the defaults of functions.
CheckResult check(Arena& arena, TypeEnvironment& environment, Term* term, CheckRole role = CheckRole::script);
/// The same; `warnings` gets what was found before an error, too. Returns the type of the whole term.
Type* check(Arena& arena, TypeEnvironment& environment, Term* term, std::vector<Diagnostic>& warnings, CheckRole role = CheckRole::script);

std::string print_type(const Type* type);

}  // namespace castile::lang
