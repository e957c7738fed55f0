// Descriptions of functions and settings.

#include "app/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/run.h"
#include "base/settings.h"
#include "formats/formats.h"
#include "lang/text.h"
#include "request/protocol.h"
#include "sched/scheduler.h"
#include "tools/catalogue.h"

namespace castile::app {

namespace {

/// With what the catalogue needs around it.
struct Known {
    Scheduler scheduler;   // not started: some declarations ask for it
    std::optional<lang::Engine> engine;
    tools::Catalogue catalogue;
    std::vector<std::string> names;   ///< settings and undocumented names too

    explicit Known(const Options& options) {
        set_scheduler(&scheduler);
        engine.emplace(engine_options(options));
        catalogue = tools::make_catalogue(*engine);
        names = engine->types().names();
    }
    ~Known() { set_scheduler(nullptr); }
};

std::string first_line(const std::string& s) { return s.substr(0, s.find('\n')); }

}  // namespace

std::string version_text() {
    return "Liquidsoap 2.5.0 (Castile " CASTILE_VERSION ")\nCastile is free software under the GNU General Public License, version 2 or later.\n";
}

std::string functions_text(const Options& options, bool by_category) {
    Known known(options);
    std::string out;
    if (!by_category) {
        for (const auto& [name, f] : known.catalogue) out += name + "\n";
        return out;
    }
    std::map<std::string, std::vector<std::string>> categories;
    for (const auto& [name, f] : known.catalogue) categories[f.category].push_back(name);
    for (const auto& [category, functions] : categories) {
        out += fmt::format("{}# {}\n\n", out.empty() ? "" : "\n", category);
        for (const std::string& name : functions) out += fmt::format("- {}\n", name);
    }
    return out;
}

std::string functions_json(const Options& options) {
    nlohmann::ordered_json all = nlohmann::ordered_json::object();
    Known known(options);
    for (const auto& [name, f] : known.catalogue) {
        nlohmann::ordered_json arguments = nlohmann::ordered_json::object(), methods = nlohmann::ordered_json::object();
        int unlabelled = 0;
        for (const auto& a : f.arguments) {
            std::string label = !a.label.empty() ? a.label : unlabelled++ == 0 ? "(unlabeled)" : fmt::format("(unlabeled {})", unlabelled);
            arguments[label] = {{"type", a.type}, {"default", a.default_value.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(a.default_value)}, {"description", a.doc}};
        }
        for (const auto& m : f.methods) methods[m.name] = {{"type", m.type}, {"description", m.doc}};
        all[name] = {{"type", f.type}, {"category", f.category}, {"description", f.doc}, {"arguments", arguments}, {"methods", methods}};
        if (!f.deprecated.empty()) all[name]["deprecated"] = f.deprecated;
    }
    return all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string functions_markdown(const Options& options, FunctionsShown shown) {
    Known known(options);
    std::map<std::string, std::vector<const tools::Described*>> categories;
    for (const auto& [name, f] : known.catalogue)
        if (f.deprecated.empty() != (shown == FunctionsShown::deprecated) && (f.extra || shown != FunctionsShown::extra)) categories[f.category].push_back(&f);
    std::string out;
    for (const auto& [category, functions] : categories) {
        std::string anchor;
        for (const char c : category) {
            if (std::isalnum(static_cast<unsigned char>(c)) != 0) anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
            else if (!anchor.empty() && anchor.back() != '-') anchor += '-';
        }
        out += fmt::format("- [{}](#{})\n", category, anchor);
    }
    for (const auto& [category, functions] : categories) {
        out += fmt::format("\n## {}\n\n", category);
        for (const tools::Described* f : functions) out += tools::markdown(*f, 3);
    }
    return out;
}

std::string plugins_text(const Options& options) {
    Known known(options);
    std::string out = "# Functions\n\n";
    for (const auto& [name, f] : known.catalogue) out += fmt::format("- {}\n", name);
    out += "\n# Formats\n\n";
    for (const std::string& name : formats::literal_names()) out += fmt::format("- %{}\n", name);
    out += "\n# Protocols\n\n";
    std::map<std::string, Protocol> protocols;
    for (Protocol& p : all_protocols()) protocols[p.name] = std::move(p);
    for (const auto& [name, p] : protocols) out += fmt::format("- {}: {}\n", name, p.doc);
    return out;
}

std::string protocols_markdown() {
    std::string out;
    std::map<std::string, Protocol> protocols;
    for (Protocol& p : all_protocols()) protocols[p.name] = std::move(p);
    for (const auto& [name, p] : protocols) out += fmt::format("### {}\n\n{}\n\nThe syntax is `{}`.\n\n", name, p.doc, p.syntax);
    return out;
}

namespace {

std::string setting_markdown(const std::string& name, const SettingBase& s) {
    struct Visitor {
        std::string operator()(bool b) const { return b ? "true" : "false"; }
        std::string operator()(int i) const { return fmt::format("{}", i); }
        std::string operator()(double d) const { return lang::float_text(d); }
        std::string operator()(const std::string& text) const { return lang::quote_text(text); }
        std::string operator()(const std::vector<std::string>& l) const {
            std::string out;
            for (const std::string& e : l) out += (out.empty() ? "" : ", ") + lang::quote_text(e);
            return "[" + out + "]";
        }
    };
    return fmt::format("## {}\n\n{}\n\n```liquidsoap\nsettings.{} := {}\n```\n\n", name, s.doc(), name,
                       s.nullable() ? "null" : std::visit(Visitor{}, s.default_value()));
}

/// What is below a module: a line a name.
std::string module_text(const Known& known, const std::string& name) {
    const std::vector<std::string> below = tools::members(known.names, name + ".");
    if (below.empty()) return "";
    std::string out;
    for (const std::string& member : below) {
        const std::string full = name + "." + member;
        const auto found = known.catalogue.find(full);
        std::string doc;
        if (found != known.catalogue.end()) doc = first_line(found->second.doc);
        else if (const SettingBase* setting = full.starts_with("settings.") ? find_setting(full.substr(9)) : nullptr)
            doc = first_line(setting->doc());
        else if (!tools::members(known.names, full + ".").empty()) doc = "...";
        out += fmt::format(" * {}{}{}\n", full, doc.empty() ? "" : ": ", doc);
    }
    return out;
}

}  // namespace

std::string settings_text() {
    std::string out;
    for (std::string_view late : late_setting_groups()) settings_in(late);
    for (const SettingBase* s : settings_in("")) out += setting_markdown(s->name(), *s);
    return out;
}

std::expected<std::string, std::string> describe_name(const Options& options, const std::string& name) {
    Known known(options);
    std::string out;
    if (const auto found = known.catalogue.find(name); found != known.catalogue.end()) {
        out = tools::manual(found->second);
    } else if (const SettingBase* setting = name.starts_with("settings.") ? find_setting(name.substr(9)) : nullptr) {
        out = setting_markdown(name.substr(9), *setting).substr(3);
    } else if (std::ranges::binary_search(known.names, name)) {
        out = fmt::format("Type: {}\n", known.engine->types().type_of(name));
    }
    if (const std::string below = module_text(known, name); !below.empty())
        out += out.empty() ? fmt::format("{} has:\n\n{}", name, below) : fmt::format("\nSee also:\n\n{}", below);
    if (!out.empty()) return out;
    std::string message = fmt::format("There is no function, module or setting named {}.", name);
    const std::vector<std::string> near = tools::near_names(name, known.names, 5);
    for (const std::string& n : near) message += (&n == near.data() ? " Did you mean: " : ", ") + n;
    if (!near.empty()) message += "?";
    return std::unexpected(message);
}

}  // namespace castile::app
