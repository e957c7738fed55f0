// What is said beside an error of types: what the value is passed to, and what would make it fit.
#include <cctype>

#include "lang/checker.h"

namespace castile::lang {

namespace {

bool is_plain(const Type& t) {
    return t.kind == TypeKind::integer || t.kind == TypeKind::floating || t.kind == TypeKind::string || t.kind == TypeKind::boolean;
}

/// What usually helps when one is given where the other is wanted; empty when nothing is known.
const char* hint_for(const Type& given, const Type& expected) {
    static const Name mono("mono"), stereo("stereo"), source("source");
    const bool wants_value = is_plain(expected) || (expected.kind == TypeKind::variable && (expected.constraints & (constraint_number | constraint_orderable)));
    if (given.kind == TypeKind::nullable && expected.kind != TypeKind::nullable) return "It may be null: say what to use then, as in `x ?? otherwise`.";
    if (given.kind == TypeKind::arrow && !given.count && wants_value) return "It is a function, or a reference: its value is got by calling it, as in `x()`.";
    if (expected.kind == TypeKind::arrow && !expected.count && is_plain(given)) return "A function is wanted: a value between braces is one, as in `{true}`.";
    if (expected.kind == TypeKind::string && is_plain(given)) return "`string(x)` makes a string of any value.";
    if (expected.kind == TypeKind::integer && given.kind == TypeKind::floating) return "`int(x)` makes an integer of a float.";
    if (expected.kind == TypeKind::integer && given.kind == TypeKind::string) return "`int_of_string(x)` reads an integer.";
    if (expected.kind == TypeKind::floating && given.kind == TypeKind::string) return "`float_of_string(x)` reads a float.";
    if (expected.kind == TypeKind::list && (is_plain(given) || (given.kind == TypeKind::constructor && given.name == source)))
        return "A list is wanted: it is written between brackets, as in `[x, y]`.";
    if (given.kind == TypeKind::literal && expected.kind == TypeKind::literal) {
        if (expected.name == stereo) return "The operator `stereo` makes the audio of a source stereo.";
        if (expected.name == mono) return "The operator `mean` makes the audio of a source mono.";
    }
    return "";
}

}  // namespace

std::string dotted_path(const Term* term) {
    std::string path;
    while (const auto* invoke = std::get_if<term::Invoke>(&term->node)) {
        path = "." + invoke->method.str() + path;
        term = invoke->base;
    }
    const auto* root = std::get_if<term::Variable>(&term->node);
    return root ? root->name.str() + path : "";
}

void Checker::explain(Diagnostic& d) const {
    const bool passed = passed_.function && passed_.span.file == d.span.file && passed_.span.begin == d.span.begin && passed_.span.end == d.span.end;
    if (passed) {
        const std::string function = dotted_path(passed_.function);
        const std::string which = passed_.label.empty() ? "unlabeled argument number " + std::to_string(passed_.position) : "argument `" + passed_.label.str() + "`";
        const bool is_operator = !function.empty() && std::ispunct(static_cast<unsigned char>(function[0])) && function[0] != '_';
        if (is_operator)
            d.notes.push_back({{}, std::string("It is on the ") + (passed_.position == 1 ? "left" : "right") + " of `" + function + "`."});
        else if (!function.empty() && function != "_[_]")
            d.notes.push_back({{}, "It is the " + which + " of `" + function + "`."});
    }
    if (beside_.file && !(beside_.begin == d.span.begin && beside_.end == d.span.end)) d.notes.push_back({beside_, "It must be of the type of this value."});
    const Unifier::Mismatch& m = env_.unifier.mismatch();
    if (m.inner_given && m.inner_expected)
        if (const char* hint = hint_for(*without_methods(m.inner_given), *without_methods(m.inner_expected)); *hint) d.notes.push_back({{}, hint});
    const auto* variable = passed ? std::get_if<term::Variable>(&passed_.value->node) : nullptr;
    const auto* called = passed ? std::get_if<term::Variable>(&passed_.function->node) : nullptr;
    if (const TypeNode* f = called ? lookup(called->name) : nullptr; f && !f->library && f->span.file)
        d.notes.push_back({f->span, "`" + called->name.str() + "` is defined here."});
    const TypeNode* node = variable ? lookup(variable->name) : nullptr;
    if (node && !node->library && node->span.file == d.span.file) d.notes.push_back({node->span, "`" + variable->name.str() + "` comes from here."});
}

}  // namespace castile::lang
