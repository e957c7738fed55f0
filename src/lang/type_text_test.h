#pragma once
// Types as text, for the tests of the parser.

#include <string>

#include "lang/type_expr.h"

namespace castile::lang {

struct TypeText {
    std::string operator()(const texpr::Named& t) const { return t.name.str(); }
    std::string operator()(const texpr::Variable& t) const { return "'" + t.name.str(); }
    std::string operator()(const texpr::Wildcard&) const { return "_"; }
    std::string operator()(const texpr::Apply& t) const {
        std::string out;
        for (const auto& a : t.args) {
            out += (out.empty() ? "" : ",") + std::string(a.optional ? "?" : "") + (a.label.empty() ? "" : a.label.str() + "=") + (a.rest ? "..." : "") +
                   (a.type != nullptr ? text(a.type) : a.literal);
        }
        return t.name.str() + "(" + out + ")";
    }
    std::string operator()(const texpr::List& t) const { return "[" + text(t.element) + "]" + (t.json_object ? "object" : ""); }
    std::string operator()(const texpr::Tuple& t) const {
        std::string out;
        for (const TypeExpr* e : t.elements) out += (out.empty() ? "" : "*") + text(e);
        return "(" + out + ")";
    }
    std::string operator()(const texpr::Nullable& t) const { return text(t.type) + "?"; }
    std::string operator()(const texpr::Getter& t) const { return "getter(" + text(t.type) + ")"; }
    std::string operator()(const texpr::Arrow& t) const {
        std::string out;
        for (const auto& p : t.params) out += (out.empty() ? "" : ",") + std::string(p.optional ? "?" : "") + (p.label.empty() ? "" : p.label.str() + ":") + text(p.type);
        return "(" + out + ")->" + text(t.result);
    }
    std::string operator()(const texpr::Record& t) const {
        std::string out;
        for (const auto& m : t.methods) {
            out += (out.empty() ? "" : ",") + (m.json_name.empty() ? "" : "\"" + m.json_name + "\" as ") + m.name.str() + (m.optional ? "?:" : ":") + text(m.type);
        }
        return (t.base != nullptr ? text(t.base) + "." : "") + "{" + out + "}";
    }
    std::string operator()(const texpr::Argsof& t) const { return "argsof " + t.function.str(); }
    static std::string text(const TypeExpr* t) { return std::visit(TypeText(), t->node); }
};

inline std::string type_text(const TypeExpr* t) { return TypeText::text(t); }

}  // namespace castile::lang
