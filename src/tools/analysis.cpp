#include "tools/analysis.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "lang/parser.h"
#include "lang/type.h"
#include "tools/names.h"

namespace castile::tools {

namespace ast = lang::ast;
using lang::Span;
using nlohmann::json;

namespace {

constexpr std::size_t max_names = 100'000;

json range(const Lines& lines, std::size_t begin, std::size_t end, Columns columns) {
    const auto place = [&](std::size_t offset) {
        const Place p = lines.place(offset, columns);
        return json{{"line", p.line}, {"character", p.column}};
    };
    return {{"start", place(begin)}, {"end", place(end)}};
}

/// Places in any file of the source map.
class Places {
public:
    explicit Places(Columns columns) : columns_(columns) {}
    json range(Span span) {
        auto found = files_.find(span.file);
        if (found == files_.end()) found = files_.emplace(span.file, Lines(lang::source_map().text(span.file))).first;
        return tools::range(found->second, span.begin, span.end, columns_);
    }
    json location(Span span) { return {{"uri", uri_of_path(lang::source_map().name(span.file))}, {"range", range(span)}}; }

private:
    Columns columns_;
    std::unordered_map<std::uint32_t, Lines> files_;
};

json diagnostic(const lang::Diagnostic& d, std::uint32_t file, const std::string& text, Places& places) {
    const bool error = d.severity == lang::Severity::error;
    json out{{"severity", error ? 1 : 2}, {"code", d.code}, {"source", "castile"}};
    std::string message = d.message;
    json related = json::array();
    for (const auto& note : d.notes) {
        if (lang::source_map().known(note.span)) {
            related.push_back({{"location", places.location(note.span)}, {"message", note.message}});
        } else {
            message += "\n" + note.message;
        }
    }
    if (d.span.file == file) {
        out["range"] = places.range(d.span);
    } else {
        // In an included file: told where it is included, as well as may be.
        std::size_t begin = 0, end = 0;
        if (lang::source_map().known(d.span)) {
            const std::string& name = lang::source_map().name(d.span.file);
            const std::string base = name.substr(name.rfind('/') + 1);
            related.push_back({{"location", places.location(d.span)}, {"message", d.message}});
            message = base + ": " + message;
            if (const std::size_t at = text.find(base); at != std::string::npos) {
                begin = at == 0 ? 0 : text.rfind('\n', at) + 1;
                end = std::min(text.find('\n', at), text.size());
            }
        }
        out["range"] = places.range({file, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
    }
    if (d.code == 4 && !error) out["tags"] = {1};   // unused
    if (d.code == 5 && !error) out["tags"] = {2};   // deprecated
    out["message"] = std::move(message);
    if (!related.empty()) out["relatedInformation"] = std::move(related);
    return out;
}

/// The definitions of a block, those inside others as their children.
json symbols(const ast::Block& block, std::uint32_t file, Places& places, int depth) {
    json out = json::array();
    for (const ast::Statement& s : block.statements) {
        if (const auto* e = std::get_if<ast::Evaluate>(&s.node)) {
            if (const auto* conditional = std::get_if<ast::StaticIf>(&e->value->node)) {
                for (const ast::Block* branch : {conditional->then, conditional->otherwise}) {
                    if (branch == nullptr || depth > 8) continue;
                    for (json& inner : symbols(*branch, file, places, depth + 1)) out.push_back(std::move(inner));
                }
            }
            continue;
        }
        const auto* b = std::get_if<ast::Binding>(&s.node);
        if (b == nullptr || b->pattern == nullptr) continue;
        std::string name;
        if (const auto* variable = std::get_if<ast::VariablePattern>(&b->pattern->node)) {
            for (const Name part : variable->path) name += (name.empty() ? "" : ".") + part.str();
        } else {
            const std::string& text = lang::source_map().text(file);
            name = text.substr(b->pattern->span.begin, std::min<std::size_t>(b->pattern->span.end - b->pattern->span.begin, 60));
        }
        const bool function = b->params.has_value() || (b->value != nullptr && std::holds_alternative<ast::Function>(b->value->node));
        json symbol{{"name", name.empty() ? "_" : name}, {"kind", function ? 12 : 13}, {"range", places.range(s.span)},
                    {"selectionRange", places.range(b->pattern->span)}};
        if (b->body != nullptr && depth < 8) {
            json inner = symbols(*b->body, file, places, depth + 1);
            if (!inner.empty()) symbol["children"] = std::move(inner);
        }
        out.push_back(std::move(symbol));
    }
    return out;
}

class Index : public NameWalk {
public:
    Index(std::uint32_t file, Places& places) : file_(file), text_(lang::source_map().text(file)), places_(places) {}
    json take() { return std::move(names_); }

protected:
    void bound(const Local& local) override { add(trim(local.span, local.name.view()), local.name.str(), local.type, &local, ""); }
    void extended(const Local& local, const std::string& dotted) override { add(local.span, dotted, local.type, &local, ""); }
    void used(const lang::Term& t, Name name, const Local* local) override {
        add(t.span, name.str(), local != nullptr && local->type != nullptr ? local->type : t.type, local, local == nullptr ? name.str() : "");
    }
    void member(const lang::Term& t, const lang::term::Invoke& invoke, const std::string& dotted) override {
        const std::string_view method = invoke.method.view();
        if (t.span.end - t.span.begin < method.size()) return;
        const Span span{t.span.file, static_cast<std::uint32_t>(t.span.end - method.size()), t.span.end};
        const Local* extension = dotted.empty() ? nullptr : find_extension(dotted);
        add(span, dotted.empty() ? invoke.method.str() : dotted, t.type, extension, extension == nullptr ? dotted : "", method);
    }

private:
    /// ~label is bound under its name.
    Span trim(Span span, std::string_view name) const {
        if (span.file == file_ && span.end <= text_.size() && span.end - span.begin > name.size()) {
            const std::size_t at = text_.substr(span.begin, span.end - span.begin).find(name);
            if (at != std::string_view::npos)
                return {span.file, static_cast<std::uint32_t>(span.begin + at), static_cast<std::uint32_t>(span.begin + at + name.size())};
        }
        return span;
    }

    void add(Span span, const std::string& name, const lang::Type* type, const Local* local, const std::string& global, std::string_view written = {}) {
        if (span.file != file_ || span.end > text_.size() || span.end < span.begin || names_.size() >= max_names) return;
        // What desugaring put there is not in the text.
        if (text_.substr(span.begin, span.end - span.begin) != (written.empty() ? std::string_view(name) : written)) return;
        json entry{{"begin", span.begin}, {"end", span.end}, {"name", name}};
        if (type != nullptr) entry["type"] = printed(type);
        if (!global.empty()) entry["global"] = global;
        if (local != nullptr && lang::source_map().known(local->span)) {
            entry["uri"] = uri_of_path(lang::source_map().name(local->span.file));
            entry["range"] = places_.range(trim(local->span, local->name.view()));
            if (local->doc != nullptr && !local->doc->text.empty()) entry["doc"] = local->doc->text;
        }
        names_.push_back(std::move(entry));
    }

    const std::string& printed(const lang::Type* type) {
        auto& text = types_[lang::deref(type)];
        if (text.empty()) text = short_type(type);
        return text;
    }

    std::uint32_t file_;
    std::string_view text_;
    Places& places_;
    json names_ = json::array();
    std::unordered_map<const lang::Type*, std::string> types_;
};

}  // namespace

json analyse(lang::Engine& engine, const std::string& path, const std::string& text, Columns columns) {
    const std::uint32_t file = lang::source_map().size();   // what analyse() adds first
    const lang::Engine::Analysis analysis = engine.analyse(path, text);
    Places places(columns);
    json out{{"diagnostics", json::array()}, {"parsed", analysis.term != nullptr}};
    if (analysis.error) out["diagnostics"].push_back(diagnostic(*analysis.error, file, text, places));
    for (const lang::Diagnostic& w : analysis.warnings) out["diagnostics"].push_back(diagnostic(w, file, text, places));
    if (analysis.term == nullptr) return out;
    Index index(file, places);
    index.walk(analysis.term);
    out["names"] = index.take();
    lang::Arena tree;
    std::vector<lang::Diagnostic> ignored;
    const ast::Program program = lang::Parser(tree, tree, file, ignored).program();
    out["symbols"] = symbols(*program.block, file, places, 0);
    return out;
}

}  // namespace castile::tools
