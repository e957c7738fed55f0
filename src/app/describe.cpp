// Descriptions of functions and settings.

#include "app/describe.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "app/run.h"
#include "base/settings.h"
#include "lang/builtin_table.h"
#include "lang/settings_globals.h"
#include "lang/text.h"
#include "sched/scheduler.h"

namespace castile::app {

namespace {

struct Argument { std::string label, type, default_value, doc; };
struct Function {
    std::string name, type, category, doc, deprecated;
    std::vector<Argument> arguments;
    std::vector<lang::BuiltinMethod> methods;
};

/// "@param ~x What it is." gives {"x", "What it is."}
std::pair<std::string, std::string> param_tag(const std::string& text) {
    std::size_t space = std::min(text.find(' '), text.size());
    std::string label = text.substr(0, space);
    if (label.starts_with("~")) label.erase(0, 1);
    return {label, space < text.size() ? text.substr(space + 1) : ""};
}

std::map<std::string, Function> all_functions(const Options& options) {
    Scheduler scheduler;
    set_scheduler(&scheduler);
    lang::Engine engine(engine_options(options));
    std::map<std::string, Function> all;
    for (const lang::Builtin& b : lang::all_builtins()) {
        if (b.hidden) continue;
        Function f{b.name, lang::type_text(b), b.category, b.doc, b.deprecated, {}, b.methods};
        for (const lang::BuiltinParam& p : b.params) f.arguments.push_back({p.label, p.type, p.default_value ? p.default_value : "", p.doc});
        all[b.name] = std::move(f);
    }
    for (const lang::BuiltinConstant& c : lang::all_constants()) all[c.name] = {c.name, c.type, c.category, c.doc, "", {}, {}};
    for (const auto& d : engine.documented()) {
        Function f{d.name, d.type, "Uncategorized", d.text, "", {}, {}};
        bool hidden = false;
        for (const auto& [tag, text] : d.tags) {
            if (tag == "@category") f.category = text;
            else if (tag == "@deprecated") f.deprecated = text;
            else if (tag == "@flag") hidden = hidden || text == "hidden";
            else if (tag == "@param") {
                auto [label, doc] = param_tag(text);
                f.arguments.push_back({label, "", "", doc});
            }
        }
        if (!hidden) all[d.name] = std::move(f);
    }
    set_scheduler(nullptr);
    return all;
}

std::string first_line(const std::string& s) { return s.substr(0, s.find('\n')); }

}  // namespace

std::string version_text() {
    return "Liquidsoap 2.5.0 (Castile " CASTILE_VERSION ")\nCastile is free software under the GNU General Public License, version 2 or later.\n";
}

std::string functions_text(const Options& options, bool by_category) {
    std::string out;
    if (!by_category) {
        for (const auto& [name, f] : all_functions(options)) out += name + "\n";
        return out;
    }
    std::map<std::string, std::vector<const Function*>> categories;
    auto all = all_functions(options);
    for (const auto& [name, f] : all) categories[f.category].push_back(&f);
    for (const auto& [category, functions] : categories) {
        out += fmt::format("{}{}\n", out.empty() ? "" : "\n", category);
        for (const Function* f : functions) out += fmt::format("  {:<40} {}\n", f->name, first_line(f->doc));
    }
    return out;
}

std::string functions_json(const Options& options) {
    nlohmann::ordered_json all = nlohmann::ordered_json::object();
    for (const auto& [name, f] : all_functions(options)) {
        nlohmann::ordered_json arguments = nlohmann::ordered_json::object(), methods = nlohmann::ordered_json::object();
        int unlabelled = 0;
        for (const Argument& a : f.arguments) {
            std::string label = !a.label.empty() ? a.label : unlabelled++ == 0 ? "(unlabeled)" : fmt::format("(unlabeled {})", unlabelled);
            arguments[label] = {{"type", a.type}, {"default", a.default_value.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(a.default_value)}, {"description", a.doc}};
        }
        for (const auto& m : f.methods) methods[m.name] = {{"type", m.type}, {"description", m.doc}};
        all[name] = {{"type", f.type}, {"category", f.category}, {"description", f.doc}, {"arguments", arguments}, {"methods", methods}};
        if (!f.deprecated.empty()) all[name]["deprecated"] = f.deprecated;
    }
    return all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string settings_text() {
    std::string out;
    auto show = [](const SettingValue& v) {
        struct Visitor {
            std::string operator()(bool b) const { return b ? "true" : "false"; }
            std::string operator()(int i) const { return fmt::format("{}", i); }
            std::string operator()(double d) const { return lang::float_text(d); }
            std::string operator()(const std::string& s) const { return lang::quote_text(s); }
            std::string operator()(const std::vector<std::string>& l) const {
                std::string s;
                for (const std::string& e : l) s += (s.empty() ? "" : ", ") + lang::quote_text(e);
                return "[" + s + "]";
            }
        };
        return std::visit(Visitor{}, v);
    };
    for (const auto& [name, s] : all_settings())
        out += fmt::format("## {}\n\n{}\n\n```liquidsoap\nsettings.{} := {}\n```\n\n", name, s->doc(), name, s->nullable() ? "null" : show(s->default_value()));
    return out;
}

std::string describe_function(const Options& options, const std::string& name) {
    auto all = all_functions(options);
    auto it = all.find(name);
    if (it == all.end()) return "";
    const Function& f = it->second;
    std::string out = fmt::format("{}\n\n", f.doc);
    if (!f.deprecated.empty()) out += fmt::format("Deprecated. {}\n\n", f.deprecated);
    out += fmt::format("Type: {}\n\nCategory: {}\n", f.type, f.category);
    if (!f.arguments.empty()) out += "\nArguments:\n\n";
    for (const Argument& a : f.arguments) {
        out += fmt::format(" * {}{}{}\n", a.label.empty() ? "(unlabeled)" : a.label, a.type.empty() ? "" : " : " + a.type,
                           a.default_value.empty() ? "" : " (default: " + a.default_value + ")");
        if (!a.doc.empty()) out += "     " + a.doc + "\n";
    }
    if (!f.methods.empty()) out += "\nMethods:\n\n";
    for (const auto& m : f.methods) out += fmt::format(" * {} : {}\n     {}\n", m.name, m.type, m.doc);
    return out;
}

}  // namespace castile::app
