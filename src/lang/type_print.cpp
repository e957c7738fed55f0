// Types as text, the way Liquidsoap writes them.
#include <algorithm>
#include <unordered_map>

#include "lang/type.h"
#include "lang/type_constraint.h"

namespace castile::lang {

namespace {

std::string letters(unsigned n, char first) {
    std::string name;
    for (++n; n > 0; n = (n - 1) / 26) name.insert(name.begin(), static_cast<char>(first + (n - 1) % 26));
    return name;
}

class Printer {
public:
    explicit Printer(bool whole_variable_as_words) : words_(whole_variable_as_words) {}

    void number(std::span<Type* const> quantified) {
        for (Type* v : quantified) names_.emplace(v, "'" + letters(quantified_++, 'a'));
    }

    std::string run(const Type* type) {
        const Type* t = deref(type);
        if (words_ && t->kind == TypeKind::variable && t->constraints)
            return (t->quantified ? "anything that is " : "something that is ") + describe_constraints(t->constraints);
        print(t, false, 0);
        std::string where;
        std::vector<std::pair<std::string, std::string>> lines;
        for (const Type* v : constrained_) {  // variables of different methods may have one name
            std::pair<std::string, std::string> line(describe_constraints(v->constraints), names_[v]);
            if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
        }
        std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        for (std::size_t i = 0; i < lines.size(); ++i) {
            const bool next = i + 1 < lines.size() && lines[i + 1].first == lines[i].first;
            where += (i == 0 ? " where " : ", ") + lines[i].second;
            if (!next) where += " is " + lines[i].first;
        }
        return out_ + where;
    }

private:
    static constexpr std::size_t limit = 20000;

    void print(const Type* t, bool parenthesised, int depth) {
        if (out_.size() > limit || depth > 200) {
            if (!out_.ends_with("...")) out_ += "...";
            return;
        }
        t = deref(t);
        switch (t->kind) {
            case TypeKind::integer: out_ += "int"; return;
            case TypeKind::floating: out_ += "float"; return;
            case TypeKind::string: out_ += "string"; return;
            case TypeKind::boolean: out_ += "bool"; return;
            case TypeKind::never: out_ += "never"; return;
            case TypeKind::literal: out_ += t->name.str(); return;
            case TypeKind::ellipsis: out_ += t->name.empty() ? "_" : "..."; return;
            case TypeKind::variable: return print_variable(t);
            case TypeKind::getter:
                out_ += '{';
                print(t->inner, false, depth + 1);
                out_ += '}';
                return;
            case TypeKind::nullable:
                print(t->inner, true, depth + 1);
                out_ += '?';
                return;
            case TypeKind::list:
                out_ += '[';
                print(t->inner, false, depth + 1);
                out_ += t->json_object ? "] as json.object" : "]";
                return;
            case TypeKind::tuple: return print_tuple(t, parenthesised, depth);
            case TypeKind::constructor: return print_constructor(t, depth);
            case TypeKind::arrow: return print_arrow(t, parenthesised, depth);
            case TypeKind::record: return print_record(t, depth);
        }
    }

    void print_variable(const Type* t) {
        if (t->constraints == constraint_pcm_track) {
            out_ += "pcm*";
            return;
        }
        auto [at, added] = names_.try_emplace(t);
        if (added) at->second = "'" + (t->quantified ? letters(quantified_++, 'a') : letters(free_++, 'A'));
        out_ += at->second;
        if (t->constraints && std::find(constrained_.begin(), constrained_.end(), t) == constrained_.end()) constrained_.push_back(t);
    }

    void print_tuple(const Type* t, bool parenthesised, int depth) {
        if (!t->count) {
            out_ += "unit";
            return;
        }
        if (parenthesised) out_ += '(';
        for (std::uint32_t i = 0; i < t->count; ++i) {
            if (i) out_ += " * ";
            print(t->elements[i], true, depth + 1);
        }
        if (parenthesised) out_ += ')';
    }

    void print_constructor(const Type* t, int depth) {
        static const Name source("source"), format("format");
        out_ += t->name.str();
        if (!t->count) {
            if (t->name == source) out_ += "(_)";
            return;
        }
        out_ += '(';
        if (t->name == source || t->name == format) {
            print_content(t->elements[0], depth);
        } else {
            for (std::uint32_t i = 0; i < t->count; ++i) {
                if (i) out_ += ',';
                print(t->elements[i], false, depth + 1);
            }
        }
        out_ += ')';
    }

    void print_content(Type* content, int depth) {
        std::vector<const TypeField*> fields;
        const Type* base = split_methods(content, fields);
        std::erase_if(fields, [](const TypeField* f) { return deref(f->type)->kind == TypeKind::never; });
        std::sort(fields.begin(), fields.end(), [](const TypeField* a, const TypeField* b) { return a->name < b->name; });
        bool first = true;
        for (const TypeField* f : fields) {
            if (!first) out_ += ", ";
            first = false;
            if (f->optional) out_ += '?';
            out_ += f->name.str() + "=";
            print(f->type, false, depth + 1);
        }
        if (is_unit(base) && !fields.empty()) return;
        if (is_unit(base)) {
            out_ += "none";
            return;
        }
        if (!first) out_ += ", ";
        print(base, false, depth + 1);
    }

    void print_arrow(const Type* t, bool parenthesised, int depth) {
        if (parenthesised) out_ += '(';
        out_ += '(';
        for (std::uint32_t i = 0; i < t->count; ++i) {
            const TypeParam& p = t->params[i];
            if (i) out_ += ", ";
            if (p.optional) out_ += '?';
            if (!p.label.empty()) out_ += p.label.str() + " : ";
            print(p.type, true, depth + 1);
        }
        out_ += ") -> ";
        print(t->inner, false, depth + 1);
        if (parenthesised) out_ += ')';
    }

    void print_record(const Type* t, int depth) {
        std::vector<const TypeField*> fields;
        const Type* base = split_methods(const_cast<Type*>(t), fields);
        std::sort(fields.begin(), fields.end(), [](const TypeField* a, const TypeField* b) { return a->name < b->name; });
        if (!is_unit(base)) {
            print(base, true, depth + 1);
            out_ += '.';
        }
        out_ += '{';
        bool first = true;
        for (const TypeField* f : fields) {
            if (!first) out_ += ", ";
            first = false;
            if (!f->json_name.empty()) out_ += "\"" + f->json_name.str() + "\" as ";
            out_ += f->name.str() + (f->optional ? "? : " : " : ");
            // The field's own variables are named after the enclosing ones, and only within it.
            const unsigned outer = quantified_;
            std::string binders;
            for (std::uint16_t i = 0; i < f->quantified_count; ++i) {
                const std::string name = "'" + letters(quantified_++, 'a');
                names_[f->quantified[i]] = name;
                binders += name + ".";
            }
            out_ += binders;
            print(f->type, false, depth + 1);
            for (std::uint16_t i = 0; i < f->quantified_count; ++i)
                if (!f->quantified[i]->constraints) names_.erase(f->quantified[i]);
            quantified_ = f->quantified_count ? outer : quantified_;
        }
        out_ += '}';
    }

    bool words_;
    std::string out_;
    std::unordered_map<const Type*, std::string> names_;
    std::vector<const Type*> constrained_;
    unsigned quantified_ = 0, free_ = 0;
};

}  // namespace

std::string print_type(const Type* type) { return type ? Printer(true).run(type) : "_"; }

std::string print_scheme(const Scheme& scheme) {
    Printer printer(true);
    printer.number({scheme.quantified, scheme.quantified_count});
    return printer.run(scheme.type);
}

}  // namespace castile::lang
