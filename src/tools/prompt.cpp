#include "tools/prompt.h"

#include <algorithm>
#include <set>

#include "lang/environment.h"
#include "lang/term.h"
#include "lang/type.h"
#include "tools/catalogue.h"

namespace castile::tools {

namespace {

namespace term = lang::term;
namespace pat = lang::pat;

void names_of(const lang::Pattern* p, std::vector<std::string>& out) {
    if (p == nullptr) return;
    if (const auto* v = std::get_if<pat::Variable>(&p->node)) {
        out.push_back(v->name.str());
    } else if (const auto* t = std::get_if<pat::Tuple>(&p->node)) {
        for (const lang::Pattern* e : t->elements) names_of(e, out);
    } else if (const auto* l = std::get_if<pat::List>(&p->node)) {
        for (const lang::Pattern* e : l->before) names_of(e, out);
        names_of(l->rest, out);
        for (const lang::Pattern* e : l->after) names_of(e, out);
    } else if (const auto* r = std::get_if<pat::Record>(&p->node)) {
        for (const pat::Field& f : r->fields) names_of(f.pattern, out);
        names_of(r->base, out);
    }
}

}  // namespace

Input read_input(lang::Engine& engine, const std::string& text) {
    Input input;
    const lang::Term* t = nullptr;
    try {
        std::vector<lang::Diagnostic> ignored;
        t = engine.parse("<console>", text, ignored);
    } catch (const lang::ScriptError& e) {
        input.incomplete = e.diagnostic().incomplete;
        return input;
    }
    while (t != nullptr) {
        if (const auto* let = std::get_if<term::Let>(&t->node)) {
            if (let->path.size() > 1) {
                std::string dotted;
                for (const Name part : let->path) dotted += (dotted.empty() ? "" : ".") + part.str();
                input.names.push_back(dotted);
            } else {
                names_of(let->pattern, input.names);
            }
            t = let->body;
        } else if (const auto* s = std::get_if<term::Sequence>(&t->node)) {
            t = s->second;
        } else if (const auto* o = std::get_if<term::Open>(&t->node)) {
            t = o->body;
        } else {
            input.value = true;
            break;
        }
    }
    // One bound twice is shown once.
    std::vector<std::string> names;
    for (const std::string& name : input.names)
        if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    input.names = std::move(names);
    return input;
}

std::vector<std::string> completions(lang::Engine& engine, const std::vector<std::string>& names, const std::string& word) {
    std::set<std::string> found;
    const std::size_t dot = word.rfind('.');
    const std::string prefix = dot == std::string::npos ? "" : word.substr(0, dot + 1), start = word.substr(prefix.size());
    for (const std::string& member : members(names, prefix))
        if (member.starts_with(start)) found.insert(prefix + member);
    for (const std::string& member : members(engine.types().names(), prefix))
        if (member.starts_with(start)) found.insert(prefix + member);
    if (!prefix.empty()) {
        auto& environment = engine.types().impl();
        if (lang::TypeNode* node = environment.find(prefix.substr(0, prefix.size() - 1)); node != nullptr && environment.own(node).type != nullptr) {
            std::vector<const lang::TypeField*> fields;
            lang::Type* below = lang::deref(lang::split_methods(environment.own(node).type, fields));
            std::vector<Name> methods;
            for (const lang::TypeField* f : fields) methods.push_back(f->name);
            if (below->kind == lang::TypeKind::constructor) environment.all_constructor_methods(below->name, methods);
            for (const Name m : methods)
                if (m.view().starts_with(start)) found.insert(prefix + m.str());
        }
    }
    return {found.begin(), found.end()};
}

}  // namespace castile::tools
