#pragma once
// Global variables: names in a tree for the resolver (list.map), values in slots for the evaluator.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lang/builtin.h"
#include "lang/value.h"

namespace castile::lang {

/// The value of a global slot. Any thread; a slot is written once, before anything that reads it exists.
Value& global_slot(int slot) noexcept;
int new_global_slot(Value initial = Value());

/// A name of the global scope, and the names below it when it is a module.
struct GlobalNode {
    std::map<Name, std::shared_ptr<GlobalNode>> members;
    int slot = -1;                       ///< of its own value; -1: none yet
    const Builtin* builtin = nullptr;
    std::function<Value()> make;         ///< gives the value at first use
    bool module = false;                 ///< `let a.b = ...` adds a member rather than a method of the value

    bool has_value() const noexcept { return slot >= 0 || builtin || make; }
    int value_slot();                    ///< allocates and fills the slot of a builtin at first use
    GlobalNode* member(Name name) const noexcept;
};

/// The global scope as it stands at this point of the program. One thread at a time.
class GlobalScope {
public:
    void add_builtins();                                       ///< all of the frozen table
    GlobalNode& declare(std::string_view dotted_name);         ///< made when missing
    GlobalNode* find(Name root) const noexcept;
    GlobalNode* find_path(std::string_view dotted_name) const noexcept;
    GlobalNode& bind(Name root);                               ///< a fresh node, hiding the old one
    void alias(Name root, std::shared_ptr<GlobalNode> node);   ///< open of a module

private:
    std::unordered_map<Name, std::shared_ptr<GlobalNode>> roots_;
};

}  // namespace castile::lang
