#pragma once
// The globals' types as a tree of names, read from their texts at first use; shared by the checker's files only.

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lang/check.h"
#include "lang/type_pool.h"
#include "lang/type_read.h"
#include "lang/unify.h"

namespace castile::lang {

/// A variable, global or local, or a name below one (list.map): its own type and the names below it.
struct TypeNode {
    std::string_view text;        ///< declared, not read yet
    Scheme own;                   ///< type nullptr: not read yet, or no value of its own
    std::vector<std::pair<Name, TypeNode*>> children;   ///< a later entry hides an earlier one
    TypeNode* fallback = nullptr; ///< for names below that are not in `children`
    Scheme whole;                 ///< `own` with a method for each child, once asked for; type nullptr: not known
    const term::Function* function = nullptr;           ///< of a definition: %argsof reads its defaults
    const std::string* deprecated = nullptr;
    bool deprecation_told = false;
    bool library = false;         ///< bound before the script: binding it anew is told
    bool used = false;
    bool tell_unused = false;     ///< warning 4 when nothing uses it
    bool is_let = false, at_top = false;
    bool self = false;            ///< a recursive function inside its own body
    Span span;
    Name name;

    bool has_own() const noexcept { return own.type || !text.empty(); }
};

struct TypeEnvironment::Impl {
    Impl();

    TypePool pool;
    Unifier unifier;
    TypeReader reader;
    EncoderTyper encoder_typer;
    std::unordered_map<Name, TypeNode*> globals;
    std::deque<TypeNode> nodes;
    std::deque<std::string> texts;
    struct ConstructorMethodNode { std::string_view text; TypeField field; };
    std::unordered_map<Name, std::unordered_map<Name, ConstructorMethodNode>> constructor_methods;
    std::unordered_map<std::string, Scheme> encoder_types;
    std::unordered_set<std::string> old_arguments_told;   ///< "fallback.track_sensitive"

    TypeNode* make_node() { return &nodes.emplace_back(); }
    std::string_view keep(std::string_view text) { return texts.emplace_back(text); }
    TypeNode* declare(Name name);               ///< the node of a dotted global, made when missing
    TypeNode* find(std::string_view dotted) const;
    TypeNode* child(TypeNode* node, Name name) const;
    void set_child(TypeNode* node, Name name, TypeNode* child);
    void children_of(TypeNode* node, std::vector<std::pair<Name, TypeNode*>>& out) const;
    const Scheme& own(TypeNode* node);          ///< reads the text; type nullptr when it has no value of its own
    const Scheme& whole(TypeNode* node);
    const TypeField* constructor_method(Name constructor, Name method);
    void all_constructor_methods(Name constructor, std::vector<Name>& names) const;
};

std::vector<Name> split_dotted(std::string_view name);
/// The nearest of `candidates` within a third of the word's length; empty when none.
std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace castile::lang
