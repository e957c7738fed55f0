// layers: lang base
// Any text as a script: checked, compiled and run over a few harmless builtins, with an error or a value that prints.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lang/builtin.h"
#include "lang/engine.h"
#include "lang/parse.h"

using namespace castile::lang;

namespace {

using Args = const BuiltinArgs&;

void declare(const char* name, std::vector<BuiltinParam> params, const char* result, Value (*call)(Args)) {
    RegisterBuiltin(Builtin{.name = name, .category = "Fuzz", .doc = "", .params = std::move(params), .result = result, .call = call});
}

Value sum(Args a) {
    if (a[0].kind() == Value::Kind::floating || a[1].kind() == Value::Kind::floating) return Value::floating(a[0].as_float() + a[1].as_float());
    return Value::integer(static_cast<std::int64_t>(static_cast<std::uint64_t>(a[0].as_int()) + static_cast<std::uint64_t>(a[1].as_int())));
}

/// What the parser's terms call, and some functions that take functions.
const bool declared = [] {
    for (const char* name : {"+", "-", "*", "/", "mod"}) declare(name, {{"", "'a", nullptr, ""}, {"", "'a", nullptr, ""}}, "'a where 'a is a number type", sum);
    for (const char* name : {"==", "!=", "<", "<=", ">", ">="})
        declare(name, {{"", "'a", nullptr, ""}, {"", "'a", nullptr, ""}}, "bool where 'a is an orderable type", [](Args a) { return Value::boolean(compare(a[0], a[1]) < 0); });
    declare("~-", {{"", "'a", nullptr, ""}}, "'a where 'a is a number type", [](Args a) { return a[0]; });
    declare("not", {{"", "bool", nullptr, ""}}, "bool", [](Args a) { return Value::boolean(!a[0].as_bool()); });
    declare("^", {{"", "string", nullptr, ""}, {"", "string", nullptr, ""}}, "string", [](Args a) { return Value::string((a[0].as_string() + a[1].as_string()).substr(0, 1000)); });
    declare("string", {{"", "'a", nullptr, ""}}, "string", [](Args a) { return Value::string(to_string(a[0]).substr(0, 1000)); });
    declare("string.concat", {{"separator", "string", "\"\"", ""}, {"", "[string]", nullptr, ""}}, "string", [](Args a) { return a[0]; });
    declare("ref", {{"", "'a", nullptr, ""}}, "(() -> 'a).{set : ('a) -> unit}", [](Args a) { return Value::reference(a[0]); });
    declare("null", {{"", "'a?", "null", ""}}, "'a?", [](Args a) { return a[0]; });
    declare("null.defined", {{"", "'a?", nullptr, ""}}, "bool", [](Args a) { return Value::boolean(!a[0].is_null()); });
    declare("null.get", {{"", "'a?", nullptr, ""}}, "'a", [](Args a) {
        if (a[0].is_null()) throw RuntimeError("not_found", "null");
        return a[0];
    });
    declare("list.map", {{"", "('a) -> 'b", nullptr, ""}, {"", "['a]", nullptr, ""}}, "['b]", [](Args a) {
        std::vector<Value> out;
        for (const Value& v : a[1].elements()) out.push_back(a[0].call({v}));
        return Value::list(std::move(out));
    });
    declare("list.hd", {{"default", "'a?", "null", ""}, {"", "['a]", nullptr, ""}}, "'a", [](Args a) {
        if (a[1].elements().empty()) throw RuntimeError("not_found", "list.hd");
        return a[1].elements()[0];
    });
    declare("fail", {{"", "string", "\"no\"", ""}}, "'a", [](Args a) -> Value { throw RuntimeError("failed", a[0].as_string()); });
    return true;
}();

/// Scripts that could run for long are left out: no recursion, no `while`, one `for`, no large number.
bool ends_soon(std::string_view text) {
    if (text.size() > 4096 || text.find("while") != text.npos || text.find("rec") != text.npos || text.find("replaces") != text.npos) return false;
    if (auto first = text.find("for"); first != text.npos && text.find("for", first + 1) != text.npos) return false;
    unsigned digits = 0;
    for (char c : text) {
        digits = (c >= '0' && c <= '9') || c == '_' || c == 'e' || c == 'x' ? digits + 1 : 0;
        if (digits > 3) return false;
    }
    return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    source_map() = SourceMap();  // or the texts of all runs pile up
    source_map().add("", "");
    Engine::Options options;
    options.standard_library = false;
    Engine engine(options);
    std::vector<Diagnostic> warnings;
    try {
        if (!ends_soon(text)) engine.check_script("<fuzz>", text, warnings);
        else to_string(engine.run_script("<fuzz>", text, warnings), true);
    } catch (const ScriptError&) {
    } catch (const RuntimeError&) {
    }
    return 0;
}
