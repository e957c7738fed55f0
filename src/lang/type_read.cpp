#include "lang/type_read.h"

#include <algorithm>
#include <cctype>

#include "lang/diag.h"
#include "lang/environment.h"
#include "lang/parse.h"
#include "lang/type_constraint.h"

namespace castile::lang {

namespace {

[[noreturn]] void fail(Span span, std::string message) {
    Diagnostic d;
    d.code = 3;
    d.span = span;
    d.message = std::move(message);
    throw ScriptError(std::move(d));
}

Name plain(Name variable) { return variable.view().starts_with('\'') ? Name(variable.view().substr(1)) : variable; }

/// Content types that have a parameter: pcm(stereo).
Name parametric_content(std::string_view name) {
    static const std::unordered_map<std::string_view, Name> names = {
        {"pcm", "pcm"}, {"audio", "pcm"}, {"pcm_s16", "pcm_s16"}, {"pcm_f32", "pcm_f32"},
        {"yuv420p", "yuv420p"}, {"canvas", "yuv420p"}, {"midi", "midi"},
        {"ffmpeg.copy", "ffmpeg.copy"}, {"ffmpeg.audio.raw", "ffmpeg.audio.raw"}, {"ffmpeg.video.raw", "ffmpeg.video.raw"},
    };
    const auto at = names.find(name);
    return at == names.end() ? Name() : at->second;
}

/// How often each free variable occurs.
void count_variables(Type* t, std::unordered_map<Type*, int>& counts, int depth) {
    if (depth > TypePool::max_depth) throw TypeTooComplex();
    t = deref(t);
    if (t->ground) return;
    switch (t->kind) {
        case TypeKind::variable: ++counts[t]; return;
        case TypeKind::tuple:
        case TypeKind::constructor:
            for (Type* e : t->element_span()) count_variables(e, counts, depth + 1);
            return;
        case TypeKind::record:
            for (const TypeField& f : t->field_span()) count_variables(f.type, counts, depth + 1);
            break;
        case TypeKind::arrow:
            for (const TypeParam& p : t->param_span()) count_variables(p.type, counts, depth + 1);
            break;
        default: break;
    }
    if (t->inner) count_variables(t->inner, counts, depth + 1);
}

}  // namespace

Scheme TypeReader::declaration(std::string_view text) {
    Arena arena;
    const TypeExpr* expression = parse_type(arena, text);
    Scope scope{TypePool::quantified_level - 1, true, {}};
    Type* t = read(*expression, scope, 0);
    if (t->ground) return {t};
    quantify_methods(t, t);
    return pool_.generalise(t, 0);
}

// A method such as `json : (?compact : bool, 'a) -> unit` of an argument's record is polymorphic when its variable is in no
// other place: the written form does not say so, but its uses do.
void TypeReader::quantify_methods(Type* t, Type* root) {
    t = deref(t);
    if (t->ground) return;
    switch (t->kind) {
        case TypeKind::tuple:
        case TypeKind::constructor:
            for (Type* e : t->element_span()) quantify_methods(e, root);
            return;
        case TypeKind::arrow:
            for (const TypeParam& p : t->param_span()) quantify_methods(p.type, root);
            return quantify_methods(t->inner, root);
        case TypeKind::record: {
            for (std::uint32_t i = 0; i < t->count; ++i) {
                TypeField& f = t->fields[i];
                quantify_methods(f.type, root);
                Type* arrow = without_methods(f.type);
                if (arrow->kind != TypeKind::arrow || arrow->ground) continue;
                std::unordered_map<Type*, int> params, here, everywhere;
                for (const TypeParam& p : arrow->param_span()) count_variables(p.type, params, 0);
                if (params.empty()) continue;
                count_variables(f.type, here, 0);
                count_variables(root, everywhere, 0);
                std::vector<Type*> own;
                for (const auto& [v, count] : params)
                    if (!v->quantified && here[v] == everywhere[v]) own.push_back(v);
                if (own.empty()) continue;
                for (Type* v : own) {
                    v->quantified = true;
                    v->level = TypePool::quantified_level;
                }
                f.quantified = pool_.array<Type*>(std::span<Type* const>(own));
                f.quantified_count = static_cast<std::uint16_t>(own.size());
            }
            return quantify_methods(t->inner, root);
        }
        case TypeKind::getter:
        case TypeKind::nullable:
        case TypeKind::list: return quantify_methods(t->inner, root);
        default: return;
    }
}

Type* TypeReader::annotation(const TypeExpr& expression, int level) {
    Scope scope{level, false, {}};
    return read(expression, scope, 0);
}

Type* TypeReader::variable(Name name, Scope& scope) {
    Type*& t = scope.variables[plain(name)];
    if (!t) t = pool_.variable(scope.level);
    return t;
}

bool TypeReader::known(Name constructor) {
    if (known_.empty()) known_.insert({Name("metadata"), Name("track_marks"), Name("subtitles"), Name("clock"), Name("request")});
    for (std::string_view text : unread_) {
        for (std::size_t i = 0; i < text.size();) {
            auto word = [&](std::size_t at) {
                return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_' || text[at] == '.');
            };
            if (!word(i)) {
                ++i;
                continue;
            }
            std::size_t end = i;
            while (word(end)) ++end;
            known_.insert(Name(text.substr(i, end - i)));
            i = end;
        }
    }
    unread_.clear();
    return known_.contains(constructor);
}

Type* TypeReader::read(const TypeExpr& e, Scope& scope, int depth) {
    if (depth > 500) fail(e.span, "This type is nested too deeply.");
    for (const TypeConstraint& c : e.where) {
        const std::uint16_t bits = parse_constraints(c.kind);
        if (!bits && !scope.declaration) fail(e.span, "Unknown constraint: " + c.kind + ".");
        variable(c.variable, scope)->constraints |= bits;
    }
    if (const auto* n = std::get_if<texpr::Named>(&e.node)) return named(n->name, e, scope);
    if (const auto* v = std::get_if<texpr::Variable>(&e.node)) return variable(v->name, scope);
    if (std::holds_alternative<texpr::Wildcard>(e.node)) return pool_.variable(scope.level);
    if (const auto* a = std::get_if<texpr::Apply>(&e.node)) return apply(*a, e, scope, depth + 1);
    if (const auto* l = std::get_if<texpr::List>(&e.node)) {
        Type* t = pool_.list(read(*l->element, scope, depth + 1));
        t->json_object = l->json_object;
        return t;
    }
    if (const auto* t = std::get_if<texpr::Tuple>(&e.node)) {
        std::vector<Type*> elements;
        for (const TypeExpr* x : t->elements) elements.push_back(read(*x, scope, depth + 1));
        return elements.size() == 1 ? elements[0] : pool_.tuple(elements);
    }
    if (const auto* n = std::get_if<texpr::Nullable>(&e.node)) return pool_.nullable(read(*n->type, scope, depth + 1));
    if (const auto* g = std::get_if<texpr::Getter>(&e.node)) return pool_.getter(read(*g->type, scope, depth + 1));
    if (const auto* a = std::get_if<texpr::Arrow>(&e.node)) {
        std::vector<TypeParam> params;
        for (const texpr::Param& p : a->params) params.push_back({p.label, read(*p.type, scope, depth + 1), p.optional});
        return pool_.arrow(params, read(*a->result, scope, depth + 1));
    }
    if (const auto* r = std::get_if<texpr::Record>(&e.node)) {
        Type* base = r->base ? read(*r->base, scope, depth + 1) : pool_.unit();
        std::vector<TypeField> fields;
        for (const texpr::Method& m : r->methods) {
            std::erase_if(fields, [&](const TypeField& f) { return f.name == m.name; });
            TypeField field{m.name, read(*m.type, scope, depth + 1), m.optional};
            field.json_name = Name(m.json_name);
            fields.push_back(field);
        }
        return pool_.record(fields, base);
    }
    fail(e.span, "%argsof has no meaning in a type.");
}

Type* TypeReader::named(Name name, const TypeExpr& e, Scope& scope) {
    const std::string_view text = name.view();
    if (text == "int") return pool_.integer();
    if (text == "float") return pool_.floating();
    if (text == "string") return pool_.string();
    if (text == "bool") return pool_.boolean();
    if (text == "unit") return pool_.unit();
    if (text == "never" || text == "none") return pool_.never();
    if (text == "_" || text == "any") return pool_.variable(scope.level);
    if (text == "pcm*") return pool_.variable(scope.level, constraint_pcm_track);
    if (text == "internal") return pool_.variable(scope.level, constraint_internal_tracks);
    if (text == "ref") return pool_.reference(pool_.variable(scope.level));
    if (text == "getter") return pool_.getter(pool_.variable(scope.level));
    if (text == "source" || text == "source_methods" || text == "format") {
        Type* content = pool_.variable(scope.level);
        return pool_.constructor(text == "format" ? name : Name("source"), {&content, 1});
    }
    if (const Name content = parametric_content(text); !content.empty()) {
        Type* parameter = pool_.variable(scope.level);
        return pool_.constructor(content, {&parameter, 1});
    }
    if (text == "subtitle") return pool_.constructor("subtitles");
    if (scope.declaration || known(name)) return pool_.constructor(name);
    unknown(name, e.span);
}

void TypeReader::unknown(Name constructor, Span span) {
    std::vector<std::string> candidates{"int", "float", "string", "bool", "unit", "source", "getter", "ref", "never", "pcm", "yuv420p", "format"};
    for (Name name : known_) candidates.push_back(name.str());
    std::sort(candidates.begin(), candidates.end());
    const std::string near = nearest_name(constructor.view(), candidates);
    fail(span, "Unknown type constructor: " + constructor.str() + "." + (near.empty() ? "" : " Did you mean `" + near + "`?"));
}

Type* TypeReader::apply(const texpr::Apply& a, const TypeExpr& e, Scope& scope, int depth) {
    static const Name source("source"), format("format");
    auto only = [&]() -> Type* {
        if (a.args.size() != 1 || !a.args[0].type) fail(e.span, "The type " + a.name.str() + " takes one type.");
        return read(*a.args[0].type, scope, depth + 1);
    };
    if (a.name == source || a.name == format) {
        const bool one = a.args.size() == 1 && a.args[0].label.empty() && !a.args[0].rest && a.args[0].type;
        if (one && a.name == source && std::holds_alternative<texpr::Wildcard>(a.args[0].type->node)) return pool_.constructor(source);
        Type* content = tracks(a, scope, depth + 1);
        return pool_.constructor(a.name, {&content, 1});
    }
    if (a.name == Name("ref")) return pool_.reference(only());
    if (a.name == Name("getter")) return pool_.getter(only());
    if (a.name == Name("list")) return pool_.list(only());
    if (!parametric_content(a.name.view()).empty()) return content(a, e, scope, depth);
    if (!scope.declaration && !known(a.name)) unknown(a.name, e.span);
    std::vector<Type*> arguments;
    for (const texpr::ApplyArg& arg : a.args) arguments.push_back(arg.type ? read(*arg.type, scope, depth + 1) : pool_.literal(Name(arg.literal)));
    return pool_.constructor(a.name, arguments);
}

// source(audio=pcm('a), ?video=_, 'r): a row of tracks. Without a rest there are no other tracks.
Type* TypeReader::tracks(const texpr::Apply& a, Scope& scope, int depth) {
    std::vector<TypeField> fields;
    Type* base = pool_.unit();
    for (const texpr::ApplyArg& arg : a.args) {
        if (!arg.label.empty()) {
            Type* type = arg.type ? read(*arg.type, scope, depth + 1) : pool_.literal(Name(arg.literal));
            fields.push_back({arg.label, type, arg.optional});
        } else if (arg.type) {
            Type* t = read(*arg.type, scope, depth + 1);
            base = t->kind == TypeKind::never ? pool_.unit() : t;
        } else if (arg.rest) {
            base = pool_.variable(scope.level);
        }
    }
    return pool_.record(fields, base);
}

// pcm(stereo), pcm("5.1"), pcm(5.1), midi(channels=16), yuv420p(width=1280, height=720), pcm('a), pcm(_).
Type* TypeReader::content(const texpr::Apply& a, const TypeExpr& e, Scope& scope, int depth) {
    Name kind = parametric_content(a.name.view());
    if (a.args.size() == 1 && a.args[0].label.empty() && a.args[0].type) {
        const TypeExpr& arg = *a.args[0].type;
        if (const auto* n = std::get_if<texpr::Named>(&arg.node)) {
            if (n->name == Name("any") || n->name == Name("_")) return pool_.variable(scope.level);
            if (n->name == Name("internal")) return pool_.variable(scope.level, constraint_internal_track);
        } else {
            Type* parameter = read(arg, scope, depth + 1);
            return pool_.constructor(kind, {&parameter, 1});
        }
    }
    std::vector<std::string> parts;
    for (const texpr::ApplyArg& arg : a.args) {
        std::string value = arg.literal;
        if (arg.type) {
            const auto* n = std::get_if<texpr::Named>(&arg.type->node);
            if (!n) fail(e.span, "This is no parameter of " + a.name.str() + ".");
            value = n->name.str();
        }
        parts.push_back(arg.label.empty() ? value : arg.label.str() + "=" + value);
    }
    static const Name pcm("pcm"), s16("pcm_s16"), f32("pcm_f32");
    if (kind == pcm || kind == s16 || kind == f32) {
        if (parts.size() != 1 || (parts[0] != "mono" && parts[0] != "stereo" && parts[0] != "5.1")) {
            std::string all;
            for (const std::string& p : parts) all += (all.empty() ? "" : ",") + p;
            fail(e.span, "Unknown type constructor: " + a.name.str() + "(" + all + ").");
        }
    }
    std::sort(parts.begin(), parts.end());
    std::string text;
    for (const std::string& p : parts) text += (text.empty() ? "" : ",") + p;
    if (text.empty()) {
        Type* parameter = pool_.variable(scope.level);
        return pool_.constructor(kind, {&parameter, 1});
    }
    Type* parameter = pool_.literal(Name(text));
    return pool_.constructor(kind, {&parameter, 1});
}

}  // namespace castile::lang
