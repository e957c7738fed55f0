// Completion: the script up to the cursor, with a name of ours in the place of what is being typed and whatever is still open
// closed, is typed as any script is; around that name stands the answer.

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lang/environment.h"
#include "lang/parser.h"
#include "lang/type.h"
#include "tools/analysis.h"
#include "tools/names.h"

namespace castile::tools {

using lang::Tok;
using lang::Token;
using nlohmann::json;

namespace {

constexpr std::string_view placeholder = "castile_completion_placeholder_";
constexpr int kind_method = 2, kind_function = 3, kind_field = 5, kind_variable = 6;

bool of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '\'' || (static_cast<unsigned char>(c) & 0x80U) != 0; }

/// The tokens of a text that may be broken: as the parser reads them for as long as it does, then as they come. Nothing when the
/// end is inside a string or a comment.
std::optional<std::vector<Token>> tokens_of(std::uint32_t file) {
    const std::string_view text = lang::source_map().text(file);
    std::vector<Token> tokens;
    std::vector<lang::Comment> comments;
    lang::Arena tree;
    std::vector<lang::Diagnostic> ignored;
    try {
        lang::Parser parser(tree, tree, file, ignored);
        parser.record_tokens(&tokens);
        comments = parser.program().comments;
    } catch (const lang::ScriptError&) {
        const std::size_t read = tokens.empty() ? 0 : tokens.back().end;
        const std::uint32_t rest = lang::source_map().add("<rest>", std::string(text.substr(read)));
        try {
            lang::Lexer lexer(rest);
            for (Token t = lexer.next(); t.kind != Tok::end_of_file; t = lexer.next()) {
                t.begin += static_cast<std::uint32_t>(read);
                t.end += static_cast<std::uint32_t>(read);
                tokens.push_back(t);
            }
            for (lang::Comment c : lexer.comments()) {
                c.end += static_cast<std::uint32_t>(read);
                comments.push_back(c);
            }
        } catch (const lang::ScriptError& e) {
            const bool open_expression = !tokens.empty() && e.diagnostic().message.find("`#{`") != std::string::npos;
            if (e.diagnostic().incomplete && !open_expression) return std::nullopt;
        }
    }
    if (!comments.empty() && comments.back().end == text.size() && !text.ends_with('\n')) return std::nullopt;
    return tokens;
}

/// What closes all that is open after these tokens.
std::string closing(const std::vector<Token>& tokens, std::string_view text) {
    struct Open { Tok kind; bool half = false; std::string end; };   ///< half: `if` without its `then`, ...
    std::vector<Open> open;
    const auto half = [&](std::initializer_list<Tok> kinds, bool value) {
        if (!open.empty() && std::ranges::find(kinds, open.back().kind) != kinds.end()) open.back().half = value;
    };
    const auto close = [&] {
        if (!open.empty()) open.pop_back();
    };
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const Token& t = tokens[i];
        const Tok before = i > 0 ? tokens[i - 1].kind : Tok::end_of_file;
        switch (t.kind) {
            case Tok::left_paren: open.push_back({t.kind, false, before == Tok::kw_fun ? ") -> ()" : ")"}); break;
            case Tok::left_bracket: open.push_back({t.kind, false, "]"}); break;
            case Tok::left_brace: open.push_back({t.kind, false, "}"}); break;
            case Tok::interpolation_begin: open.push_back({t.kind, false, std::string("}") + std::string(text.substr(t.begin, t.end - t.begin))}); break;
            case Tok::kw_def:
            case Tok::kw_begin: open.push_back({t.kind}); break;
            case Tok::kw_if:
            case Tok::kw_while:
            case Tok::kw_for:
            case Tok::kw_try: open.push_back({t.kind, true}); break;
            case Tok::if_defined:
            case Tok::if_not_defined:
            case Tok::if_version:
            case Tok::if_encoder:
            case Tok::if_not_encoder: open.push_back({t.kind}); break;
            case Tok::kw_elsif: half({Tok::kw_if}, true); break;
            case Tok::kw_then: half({Tok::kw_if}, false); break;
            case Tok::kw_do: half({Tok::kw_while, Tok::kw_for, Tok::kw_catch}, false); break;
            case Tok::kw_catch:
                if (!open.empty() && open.back().kind == Tok::kw_try) open.back() = {Tok::kw_catch, true, ""};
                break;
            case Tok::kw_finally: half({Tok::kw_try, Tok::kw_catch}, false); break;
            case Tok::right_paren:
            case Tok::right_bracket:
            case Tok::right_brace:
            case Tok::interpolation_end:
            case Tok::kw_end:
            case Tok::static_end: close(); break;
            default: break;
        }
    }
    std::string out;
    for (auto it = open.rbegin(); it != open.rend(); ++it) {
        if (!it->end.empty()) {
            out += it->end;
            continue;
        }
        switch (it->kind) {
            case Tok::kw_if: out += it->half ? " then () end" : " end"; break;
            case Tok::kw_while:
            case Tok::kw_for:
            case Tok::kw_catch: out += it->half ? " do () end" : " end"; break;
            case Tok::kw_try: out += it->half ? " catch _ do () end" : " end"; break;
            case Tok::kw_def:
            case Tok::kw_begin: out += " end"; break;
            default: out += " %endif"; break;
        }
    }
    return out;
}

class Finder : public NameWalk {
public:
    explicit Finder(lang::TypeEnvironment& types) : types_(types) {}
    json names = json::array();
    std::string path;        ///< of a global whose members are asked for
    bool anything = false;   ///< any name may stand here
    bool found = false;

protected:
    void used(const lang::Term&, Name name, const Local*) override {
        if (name.view() != placeholder || found) return;
        found = anything = true;
        std::vector<Name> seen;
        for (auto it = scope().rbegin(); it != scope().rend(); ++it) {
            if (std::ranges::find(seen, it->name) != seen.end() || it->name.view().starts_with("_0_")) continue;
            seen.push_back(it->name);
            add(it->name.str(), it->type, is_function(it->type) ? kind_function : kind_variable);
        }
    }
    void call(const lang::term::Apply& apply) override {
        if (found || apply.function == nullptr || apply.function->type == nullptr) return;
        const bool here = std::ranges::any_of(apply.arguments, [](const lang::term::Argument& a) {
            const lang::Term* value = a.value;
            while (const auto* cast = value != nullptr ? std::get_if<lang::term::ToFloat>(&value->node) : nullptr) value = cast->value;
            const auto* v = value != nullptr ? std::get_if<lang::term::Variable>(&value->node) : nullptr;
            return a.label.empty() && v != nullptr && v->name.view() == placeholder;
        });
        if (!here) return;
        const lang::Type* arrow = lang::without_methods(apply.function->type);
        if (arrow->kind != lang::TypeKind::arrow) return;
        for (const lang::TypeParam& p : arrow->param_span()) {
            if (p.label.empty()) continue;
            if (std::ranges::any_of(apply.arguments, [&](const lang::term::Argument& a) { return a.label == p.label; })) continue;
            add(p.label.str() + "=", p.type, kind_field);
        }
    }
    void member(const lang::Term&, const lang::term::Invoke& invoke, const std::string& dotted) override {
        if (invoke.method.view() != placeholder || found) return;
        found = true;
        if (!dotted.empty()) path = dotted.substr(0, dotted.rfind('.') + 1);
        if (invoke.base == nullptr || invoke.base->type == nullptr) return;
        std::vector<const lang::TypeField*> fields;
        lang::Type* below = lang::deref(lang::split_methods(invoke.base->type, fields));
        std::vector<Name> seen;
        for (const lang::TypeField* f : fields) {
            seen.push_back(f->name);
            if (f->name.view() != placeholder) add(f->name.str(), f->type, is_function(f->type) ? kind_method : kind_field);
        }
        if (below->kind == lang::TypeKind::nullable) below = lang::deref(below->inner);
        if (below->kind != lang::TypeKind::constructor) return;
        std::vector<Name> methods;
        types_.impl().all_constructor_methods(below->name, methods);
        std::sort(methods.begin(), methods.end());
        for (const Name m : methods) {
            if (std::ranges::find(seen, m) != seen.end()) continue;
            const lang::TypeField* f = types_.impl().constructor_method(below->name, m);
            add(m.str(), f->type, is_function(f->type) ? kind_method : kind_field);
        }
    }

private:
    static bool is_function(const lang::Type* t) { return t != nullptr && lang::without_methods(t)->kind == lang::TypeKind::arrow; }
    void add(const std::string& label, const lang::Type* type, int kind) {
        json item{{"label", label}, {"kind", kind}};
        if (type != nullptr) item["type"] = short_type(type);
        names.push_back(std::move(item));
    }

    lang::TypeEnvironment& types_;
};

}  // namespace

json complete(lang::Engine& engine, const std::string& path, const std::string& text, std::size_t offset) {
    std::size_t begin = std::min(offset, text.size());
    while (begin > 0 && of_name(text[begin - 1])) --begin;
    const std::string word = text.substr(begin, std::min(offset, text.size()) - begin);
    json out{{"word", word}, {"path", ""}, {"global", false}, {"names", json::array()}};
    if (!word.empty() && std::isdigit(static_cast<unsigned char>(word[0])) != 0) return out;

    const std::string head = text.substr(0, begin);
    const std::uint32_t mark = lang::source_map().size();
    const std::uint32_t file = lang::source_map().add("<completion>", head);
    const std::optional<std::vector<Token>> tokens = tokens_of(file);
    if (!tokens) {
        lang::source_map().forget_from(mark);
        return out;
    }
    std::string script = head + std::string(placeholder) + closing(*tokens, head);
    lang::source_map().forget_from(mark);

    const lang::Engine::Analysis analysis = engine.analyse(path, std::move(script));
    Finder finder(engine.types());
    if (analysis.term != nullptr) finder.walk(analysis.term);
    out["path"] = finder.path;
    out["names"] = std::move(finder.names);
    out["global"] = finder.anything;
    if (finder.found) return out;
    // It does not parse: what can be said from the text alone.
    std::size_t start = begin;
    while (start > 0 && (of_name(text[start - 1]) || text[start - 1] == '.')) --start;
    out["path"] = text.substr(start, begin - start);
    out["global"] = start == begin;
    return out;
}

}  // namespace castile::tools
