// Hover, completion, definitions, signatures, formatting.

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "lang/diag.h"
#include "lang/library.h"
#include "tools/analysis.h"
#include "tools/format.h"
#include "tools/isolated.h"
#include "tools/language_server.h"

namespace castile::tools {

namespace {

constexpr std::chrono::seconds longest_answer{10};

bool of_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '\'' || c == '.' || (static_cast<unsigned char>(c) & 0x80U) != 0;
}

/// The line of the library that defines a name, if this one does.
bool defines(std::string_view line, std::string_view name) {
    if (line.empty() || line[0] == ' ' || line[0] == '#') return false;
    for (const std::string_view word : {"def ", "let ", "rec ", "replaces "})
        if (line.starts_with(word)) line.remove_prefix(word.size());
    if (!line.starts_with(name)) return false;
    return line.size() == name.size() || !of_name(line[name.size()]);
}

}  // namespace

LanguageServer::Json LanguageServer::range(const std::string& text, std::size_t begin, std::size_t end) const {
    const Lines lines(text);
    const auto place = [&](std::size_t offset) {
        const Place p = lines.place(offset, columns_);
        return Json{{"line", p.line}, {"character", p.column}};
    };
    return {{"start", place(begin)}, {"end", place(end)}};
}

std::size_t LanguageServer::offset(const Document& d, const Json& params) const {
    const Json& position = params.at("position");
    return Lines(d.text).offset({position.at("line").get<std::size_t>(), position.at("character").get<std::size_t>()}, columns_);
}

const Described* LanguageServer::described(const std::string& name) const {
    const auto found = catalogue_.find(name);
    return found == catalogue_.end() ? nullptr : &found->second;
}

const LanguageServer::Json* LanguageServer::name_at(const Document& d, std::size_t offset, std::size_t& begin, std::size_t& end) const {
    // Texts that differ in one place: what is before and after it is still known.
    const std::string &old = d.names_text, &now = d.text;
    const std::size_t shorter = std::min(old.size(), now.size());
    std::size_t same = 0, tail = 0;
    while (same < shorter && old[same] == now[same]) ++same;
    while (tail < shorter - same && old[old.size() - 1 - tail] == now[now.size() - 1 - tail]) ++tail;
    const auto shift = static_cast<std::ptrdiff_t>(now.size()) - static_cast<std::ptrdiff_t>(old.size());
    std::ptrdiff_t moved = 0;
    if (offset > same || old.size() == now.size()) {
        if (offset >= now.size() - tail) moved = shift;
        else if (same < shorter) return nullptr;
    }
    const auto at = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(offset) - moved);
    const Json* best = nullptr;
    for (const Json& entry : d.names) {
        const auto from = entry.at("begin").get<std::size_t>(), to = entry.at("end").get<std::size_t>();
        if (at < from || at > to) continue;
        // At the border of two names, the one that starts here.
        if (best != nullptr && (to - from > end - begin || (at == to && at < end))) continue;
        best = &entry;
        begin = from;
        end = to;
    }
    begin = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(begin) + moved);
    end = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(end) + moved);
    return best;
}

LanguageServer::Json LanguageServer::hover(const Json& params) {
    Document& d = document(params);
    if (d.changed) check(params.at("textDocument").at("uri"), d);
    const std::size_t at = offset(d, params);
    std::size_t begin = 0, end = 0;
    const Json* entry = name_at(d, at, begin, end);
    std::string text;
    if (entry != nullptr) {
        const Described* global = entry->contains("global") ? described(entry->at("global")) : nullptr;
        const std::string type = global != nullptr ? global->type : entry->value("type", "");
        text = "```liquidsoap\n" + entry->at("name").get<std::string>() + (type.empty() ? "" : " : " + type) + "\n```\n";
        if (global != nullptr) {
            text += "\n" + global->doc + "\n";
            if (!global->deprecated.empty()) text += "\n**Deprecated.** " + global->deprecated + "\n";
            for (const auto& a : global->arguments) {
                if (a.doc.empty()) continue;
                text += "\n- `" + (a.label.empty() ? "(unlabeled)" : a.label) + "`" + (a.default_value.empty() ? "" : " = `" + a.default_value + "`") + ": " + a.doc;
            }
        } else if (const std::string doc = entry->value("doc", ""); !doc.empty()) {
            text += "\n" + doc + "\n";
        }
    } else {
        // The script does not parse (yet): the word itself may be one of the library's.
        begin = end = at;
        while (begin > 0 && of_name(d.text[begin - 1])) --begin;
        while (end < d.text.size() && of_name(d.text[end]) && d.text[end] != '.') ++end;
        const Described* global = described(d.text.substr(begin, end - begin));
        if (global == nullptr) return nullptr;
        text = "```liquidsoap\n" + global->name + " : " + global->type + "\n```\n\n" + global->doc + "\n";
    }
    return {{"contents", {{"kind", "markdown"}, {"value", text}}}, {"range", range(d.text, begin, end)}};
}

LanguageServer::Json LanguageServer::completion(const Json& params) {
    const Document& d = document(params);
    const std::string path = path_of_uri(params.at("textDocument").at("uri").get<std::string>());
    const std::size_t at = offset(d, params);
    const std::optional<std::string> made = isolated(
        [&] {
            const std::vector<std::uint8_t> bytes = Json::to_cbor(complete(engine_, path, d.text, at));
            return std::string(bytes.begin(), bytes.end());
        },
        longest_answer);
    Json items = Json::array();
    if (!made) return items;
    const Json found = Json::from_cbor(*made);
    const std::string word = found.at("word"), prefix = found.at("path");
    std::vector<std::string> seen;
    for (const Json& name : found.at("names")) {
        const std::string label = name.at("label");
        if (!label.starts_with(word)) continue;
        seen.push_back(label);
        // What is near comes first: labels and methods, then names of the script, then the library's.
        Json item{{"label", label}, {"kind", name.at("kind")}, {"sortText", (label.ends_with('=') ? "0" : "1") + label}};
        if (name.contains("type")) item["detail"] = name.at("type");
        if (!prefix.empty())
            if (const Described* global = described(prefix + label)) item["documentation"] = {{"kind", "markdown"}, {"value", global->doc}};
        items.push_back(std::move(item));
    }
    if (found.at("global").get<bool>() || !prefix.empty()) {
        for (const std::string& label : members(names_, prefix)) {
            if (!label.starts_with(word) || std::ranges::find(seen, label) != seen.end()) continue;
            const Described* global = described(prefix + label);
            const bool function = global != nullptr && global->type.find("->") != std::string::npos;
            Json item{{"label", label}, {"kind", function ? 3 : global != nullptr ? 6 : 9}, {"sortText", "2" + label}};
            if (global != nullptr) {
                item["detail"] = global->type;
                item["documentation"] = {{"kind", "markdown"}, {"value", global->doc}};
                if (!global->deprecated.empty()) item["tags"] = {1};
            } else if (const std::string type = engine_.types().defined(prefix + label) && prefix.starts_with("settings.") ? engine_.types().type_of(prefix + label) : "";
                       !type.empty()) {
                item["detail"] = type;
            }
            items.push_back(std::move(item));
        }
    }
    return items;
}

std::optional<LanguageServer::Json> LanguageServer::library_location(const std::string& name) const {
    lang::Library library(library_);
    for (const lang::Library::File& file : library.files()) {
        if (std::ranges::find(file.names, name) == file.names.end()) continue;
        std::size_t begin = 0;
        while (begin < file.text.size()) {
            const std::size_t end = std::min(file.text.find('\n', begin), file.text.size());
            const std::string_view line = std::string_view(file.text).substr(begin, end - begin);
            if (defines(line, name)) {
                const std::size_t at = begin + line.find(name);
                return Json{{"uri", uri_of_path(file.path)}, {"range", range(file.text, at, at + name.size())}};
            }
            begin = end + 1;
        }
    }
    return std::nullopt;
}

LanguageServer::Json LanguageServer::definition(const Json& params) {
    Document& d = document(params);
    if (d.changed) check(params.at("textDocument").at("uri"), d);
    const std::size_t at = offset(d, params);
    std::size_t begin = 0, end = 0;
    if (const Json* entry = name_at(d, at, begin, end)) {
        if (entry->contains("uri")) return {{"uri", entry->at("uri")}, {"range", entry->at("range")}};
        if (entry->contains("global"))
            if (auto location = library_location(entry->at("global"))) return *location;
        return nullptr;
    }
    // %include "file"
    const std::size_t line = at == 0 ? 0 : d.text.rfind('\n', at - 1) + 1;
    const std::string_view text = std::string_view(d.text).substr(line, std::min(d.text.find('\n', line), d.text.size()) - line);
    const std::size_t directive = text.find("%include");
    if (directive == std::string_view::npos) return nullptr;
    const std::size_t open = text.find_first_of("\"<", directive), close = open == std::string_view::npos ? open : text.find_first_of("\">", open + 1);
    if (close == std::string_view::npos) return nullptr;
    std::string file(text.substr(open + 1, close - open - 1));
    if (text[open] == '<') {
        file = library_ + "/" + file;
    } else if (!file.starts_with('/')) {
        const std::string path = path_of_uri(params.at("textDocument").at("uri").get<std::string>());
        file = path.substr(0, path.rfind('/') + 1) + file;
    }
    return {{"uri", uri_of_path(file)}, {"range", range("", 0, 0)}};
}

LanguageServer::Json LanguageServer::signature(const Json& params) {
    const Document& d = document(params);
    // Back to the bracket that is open here; strings are not looked into.
    std::size_t at = offset(d, params);
    int depth = 0;
    std::size_t commas = 0;
    while (at > 0) {
        const char c = d.text[--at];
        if (c == ')' || c == ']' || c == '}') ++depth;
        if (c == ',' && depth == 0) ++commas;
        if ((c == '(' || c == '[' || c == '{') && depth-- == 0) break;
    }
    if (at >= d.text.size() || d.text[at] != '(') return nullptr;
    std::size_t begin = at;
    while (begin > 0 && of_name(d.text[begin - 1])) --begin;
    const Described* function = described(d.text.substr(begin, at - begin));
    if (function == nullptr || function->arguments.empty()) return nullptr;
    std::string label = function->name + "(";
    Json parameters = Json::array();
    for (const auto& a : function->arguments) {
        const std::string shown = (a.label.empty() ? "" : a.label) + (a.label.empty() || a.type.empty() ? "" : " : ") + a.type +
                                  (a.default_value.empty() ? "" : " = " + a.default_value);
        if (!parameters.empty()) label += ", ";
        const std::size_t from = label.size();
        label += shown;
        parameters.push_back({{"label", {from, label.size()}}, {"documentation", a.doc}});
    }
    label += ")";
    return {{"signatures", {{{"label", label}, {"documentation", function->doc}, {"parameters", parameters}}}},
            {"activeSignature", 0},
            {"activeParameter", std::min(commas, function->arguments.size() - 1)}};
}

LanguageServer::Json LanguageServer::format(const Json& params) {
    const Document& d = document(params);
    const std::optional<std::string> made = isolated(
        [&]() -> std::string {
            try {
                return "+" + format_script("<document>", d.text);
            } catch (const lang::ScriptError& e) {
                return "-It does not parse: " + e.diagnostic().message;
            } catch (const FormatError& e) {
                return std::string("-") + e.what();
            }
        },
        longest_answer);
    if (!made || made->empty()) throw std::runtime_error("This script cannot be formatted.");
    if (made->front() == '-') throw std::runtime_error(made->substr(1));
    const std::string formatted = made->substr(1);
    if (formatted == d.text) return Json::array();
    return Json::array({{{"range", range(d.text, 0, d.text.size())}, {"newText", formatted}}});
}

}  // namespace castile::tools
