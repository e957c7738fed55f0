// Descriptions from declarations, from the comments of the standard library and from types.

#include "tools/catalogue.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "lang/builtin_table.h"
#include "lang/diag.h"
#include "lang/environment.h"
#include "lang/type.h"

namespace castile::tools {

namespace {

/// "~x What it is." gives {"x", "What it is."}
std::pair<std::string, std::string> param_tag(const std::string& text) {
    const std::size_t space = std::min(text.find(' '), text.size());
    std::string label = text.substr(0, space);
    if (label.starts_with("~")) label.erase(0, 1);
    return {label, space < text.size() ? text.substr(space + 1) : ""};
}

/// The text of a default as the script has it.
std::string written(const lang::Term* term) {
    if (term == nullptr || !lang::source_map().known(term->span)) return "";
    const std::string& text = lang::source_map().text(term->span.file);
    if (term->span.end > text.size() || term->span.begin > term->span.end) return "";
    return text.substr(term->span.begin, term->span.end - term->span.begin);
}

/// Arguments of a definition: types from its type, defaults from its text, words from its comments.
void add_arguments(Described& d, lang::TypeEnvironment& types, std::vector<std::pair<std::string, std::string>> docs) {
    auto& environment = types.impl();
    lang::TypeNode* node = environment.find(d.name);
    const lang::Scheme scheme = node != nullptr ? environment.own(node) : lang::Scheme{};
    const lang::Type* arrow = scheme.type != nullptr ? lang::without_methods(scheme.type) : nullptr;
    const auto doc_of = [&](const std::string& label) {
        const auto found = std::ranges::find(docs, label, &std::pair<std::string, std::string>::first);
        if (found == docs.end()) return std::string();
        std::string text = std::move(found->second);
        docs.erase(found);
        return text;
    };
    if (arrow == nullptr || arrow->kind != lang::TypeKind::arrow) {
        for (auto& [label, text] : docs) d.arguments.push_back({label, "", "", text});
        return;
    }
    std::vector<std::size_t> unlabelled;
    for (const lang::TypeParam& p : arrow->param_span()) {
        const std::string label = p.label.str();
        if (label.empty()) unlabelled.push_back(d.arguments.size());
        std::string value;
        if (p.optional && node->function != nullptr)
            for (const lang::term::Param& written_param : node->function->params)
                if (written_param.label == p.label && written_param.default_value != nullptr) value = written(written_param.default_value);
        d.arguments.push_back({label, lang::print_type(p.type), value, label.empty() ? "" : doc_of(label)});
    }
    // What the comments call by another name are the unlabelled ones, in order.
    for (const std::size_t index : unlabelled) {
        if (docs.empty()) break;
        d.arguments[index].doc = docs.front().second;
        docs.erase(docs.begin());
    }
}

std::string argument_name(const Described::Argument& a) { return a.label.empty() ? "(unlabeled)" : a.label; }

std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t above = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
            diagonal = above;
        }
    }
    return row[b.size()];
}

}  // namespace

Catalogue make_catalogue(lang::Engine& engine) {
    Catalogue all;
    for (const lang::Builtin& b : lang::all_builtins()) {
        if (b.hidden) continue;
        Described d{b.name, lang::type_text(b), b.category, b.doc, b.deprecated, {}, {}, false};
        for (const lang::BuiltinParam& p : b.params) d.arguments.push_back({p.label, p.type, p.default_value != nullptr ? p.default_value : "", p.doc});
        for (const lang::BuiltinMethod& m : b.methods) d.methods.push_back({m.name, m.type, m.doc});
        all[b.name] = std::move(d);
    }
    for (const lang::BuiltinConstant& c : lang::all_constants()) all[c.name] = {c.name, c.type, c.category, c.doc, "", {}, {}, false};
    for (const auto& documented : engine.documented()) {
        Described d{documented.name, documented.type, "Uncategorized", documented.text, "", {}, {}, false};
        bool hidden = false;
        std::vector<std::pair<std::string, std::string>> params;
        for (const auto& [tag, text] : documented.tags) {
            if (tag == "@category") d.category = text;
            else if (tag == "@deprecated") d.deprecated = text.empty() ? "It will be removed." : text;
            else if (tag == "@flag") {
                hidden = hidden || text == "hidden";
                d.extra = d.extra || text == "extra";
            }
            if (tag == "@param") params.push_back(param_tag(text));
        }
        if (hidden) continue;
        add_arguments(d, engine.types(), std::move(params));
        all[d.name] = std::move(d);
    }
    return all;
}

std::vector<std::string> members(const std::vector<std::string>& names, std::string_view prefix) {
    std::vector<std::string> found;
    for (auto it = std::ranges::lower_bound(names, prefix, {}, [](const std::string& s) { return std::string_view(s); });
         it != names.end() && it->starts_with(prefix); ++it) {
        std::string_view rest = std::string_view(*it).substr(prefix.size());
        const auto first = static_cast<unsigned char>(rest.empty() ? '\0' : rest[0]);
        if (std::isalpha(first) == 0 && first != '_' && first < 0x80) continue;   // operators
        rest = rest.substr(0, rest.find('.'));
        if (rest.starts_with("_[") || rest.starts_with("_0_")) continue;
        if (found.empty() || found.back() != rest) found.emplace_back(rest);
    }
    std::ranges::sort(found);
    const auto again = std::ranges::unique(found);
    found.erase(again.begin(), again.end());
    return found;
}

std::string manual(const Described& d) {
    std::string out = fmt::format("{}\n\n", d.doc);
    if (!d.deprecated.empty()) out += fmt::format("Deprecated. {}\n\n", d.deprecated);
    out += fmt::format("Type: {}\n\nCategory: {}\n", d.type, d.category);
    if (!d.arguments.empty()) out += "\nArguments:\n\n";
    for (const auto& a : d.arguments) {
        out += fmt::format(" * {}{}{}\n", argument_name(a), a.type.empty() ? "" : " : " + a.type,
                           a.default_value.empty() ? "" : " (default: " + a.default_value + ")");
        if (!a.doc.empty()) out += "     " + a.doc + "\n";
    }
    if (!d.methods.empty()) out += "\nMethods:\n\n";
    for (const auto& m : d.methods) out += fmt::format(" * {} : {}\n{}", m.name, m.type, m.doc.empty() ? "" : "     " + m.doc + "\n");
    return out;
}

std::string markdown(const Described& d, unsigned heading) {
    std::string out = fmt::format("{} `{}`\n\n{}\n\n", std::string(heading, '#'), d.name, d.doc);
    if (!d.deprecated.empty()) out += fmt::format("**Deprecated.** {}\n\n", d.deprecated);
    out += fmt::format("Type:\n\n```\n{}\n```\n\n", d.type);
    if (!d.arguments.empty()) out += "Arguments:\n\n";
    for (const auto& a : d.arguments) {
        out += fmt::format("- `{}`", argument_name(a));
        if (!a.type.empty())
            out += fmt::format(" (of type `{}`{})", a.type, a.default_value.empty() ? "" : ", which defaults to `" + a.default_value + "`");
        out += a.doc.empty() ? "\n" : ": " + a.doc + "\n";
    }
    if (!d.arguments.empty()) out += "\n";
    if (!d.methods.empty()) out += "Methods:\n\n";
    for (const auto& m : d.methods) out += fmt::format("- `{}` (of type `{}`){}\n", m.name, m.type, m.doc.empty() ? "" : ": " + m.doc);
    if (!d.methods.empty()) out += "\n";
    return out;
}

std::vector<std::string> near_names(std::string_view name, const std::vector<std::string>& names, std::size_t count) {
    struct Near { std::size_t distance; const std::string* name; };
    std::vector<Near> found;
    const std::size_t limit = std::max<std::size_t>(2, name.size() / 3);
    for (const std::string& candidate : names) {
        const std::size_t difference = candidate.size() > name.size() ? candidate.size() - name.size() : name.size() - candidate.size();
        // A longer name that ends or starts with the word ("reload" of playlist.reload) is near too.
        if (name.size() > 2 && (candidate.ends_with("." + std::string(name)) || candidate.starts_with(name))) {
            found.push_back({limit, &candidate});
        } else if (difference <= limit) {
            if (const std::size_t d = distance(name, candidate); d <= limit && d < name.size()) found.push_back({d, &candidate});
        }
    }
    std::ranges::stable_sort(found, {}, &Near::distance);
    std::vector<std::string> out;
    for (const Near& near : found) {
        if (out.size() == count) break;
        out.push_back(*near.name);
    }
    return out;
}

}  // namespace castile::tools
