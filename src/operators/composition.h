#pragma once
// The arguments that switch, fallback, rotate and random share, in both spellings: parameters of the operator (2.4) and methods
// of each source (2.5), as children of a Switcher.

#include <string>
#include <vector>

#include "script/operator.h"
#include "source/switcher.h"

namespace castile::operators {

/// The parameters of the operator itself, as script values; a default-constructed (unit) value counts as not given.
struct OldSpelling {
    lang::Value track_sensitive, replay_metadata, transitions, transition_length, override_metadata, weights, single;
};

/// The declaration of the old parameters, in this order, `track_sensitive` first when there is one.
std::vector<lang::BuiltinParam> old_parameters(bool track_sensitive, bool weights);

/// A child of one source value, `index` of `count`; reads its methods and the old parameters.
Switcher::Child child_of(const lang::Value& source, std::size_t index, std::size_t count, const OldSpelling& old);

/// Warns once for each old parameter that is used, and sets what belongs to the operator as a whole.
void apply_old(const OldSpelling& old, Switcher& switcher);

/// A {bool} or {int} as a function that is safe in a tick; null when it is not given.
std::function<bool()> bool_getter(const lang::Value& value, bool otherwise);
std::function<int()> int_getter(const lang::Value& value);

/// The type of one source with the optional methods of the 2.5 spelling.
extern const std::string child_type, weighted_child_type;

/// `selected : () -> source('a)?` and `queue : () -> [source('a)]`.
script::OperatorMethod selected_method();
script::OperatorMethod queue_method();

}  // namespace castile::operators
