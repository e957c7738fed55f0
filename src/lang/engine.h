#pragma once
// The front end as a whole: one object that parses, checks and evaluates scripts over the builtins and the standard library.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lang/check.h"
#include "lang/diag.h"
#include "lang/value.h"

namespace castile::lang {

/// What makes a value of an encoder literal: given by formats/. `params` are evaluated.
struct EncoderLiteral {
    struct Param {
        Name label;
        Value value;
        std::shared_ptr<EncoderLiteral> encoder;  ///< a nested %name(...)
        Name word;
        Span span;
    };
    Name name;
    std::vector<Param> params;
    Span span;
};
using EncoderMaker = std::function<Value(const EncoderLiteral&)>;

/// Values that its scripts made are used, and forgotten, while it lives. There may be several, one after the other.
class Engine {
public:
    struct Options {
        bool standard_library = true;
        std::string library_directory;   ///< where stdlib/ is; empty: found beside the binary, then the installed place
        EncoderTyper encoder_typer;
        EncoderMaker encoder_maker;
        std::function<bool(std::string_view)> encoder_available;
        bool strict = false;
        bool tolerant = false;           ///< a file of the standard library that does not load is left out, see `faults`
    };
    explicit Engine(Options options);   ///< freezes the builtins, finds the standard library.
    ~Engine();

    /// Parses and checks; nothing runs. Warnings go to `warnings`. Throws ScriptError.
    void check_script(const std::string& name, std::string text, std::vector<Diagnostic>& warnings);
    /// The same, then evaluates; returns the value of the last expression. Throws ScriptError, RuntimeError.
    Value run_script(const std::string& name, std::string text, std::vector<Diagnostic>& warnings);
    std::string last_type() const;       ///< printed type of the last script's value (REPL)
    TypeEnvironment& types() noexcept;
    /// Only parses.
    Term* parse(const std::string& name, std::string text, std::vector<Diagnostic>& warnings);
    /// Parses and types without ever throwing, for tools: what is wrong is in `error`, and terms read before it have their types.
    struct Analysis {
        Term* term = nullptr;                  ///< null when the script does not parse
        std::optional<Diagnostic> error;
        std::vector<Diagnostic> warnings;
    };
    Analysis analyse(const std::string& name, std::string text);
    /// A definition of the standard library or of a script, as its comments document it.
    struct Documented {
        std::string name, type, text;
        std::vector<std::pair<std::string, std::string>> tags;
    };
    /// Loads the whole standard library and declares every setting; all that has a comment.
    std::vector<Documented> documented();
    /// What kept files of the standard library from being loaded so far. For a tolerant engine.
    const std::vector<std::string>& faults() const noexcept;
    /// A global's value, when it is defined: "list.map". Null pointer: none.
    std::optional<Value> global(std::string_view dotted_name);
    /// Defines a global before scripts run (the arguments of the script).
    void define(std::string_view dotted_name, std::string_view type_text, Value value);

    struct Impl;

private:
    std::unique_ptr<Impl> impl_;
};

}  // namespace castile::lang
