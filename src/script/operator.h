#pragma once
// RegisterOperator: one declaration makes a stream operator known to the checker, the evaluator, the manual and the graph.

#include <string>
#include <vector>

#include "lang/builtin.h"
#include "script/args.h"
#include "source/output.h"
#include "source/source.h"

namespace castile::script {

enum class Category { audio, conversion, fade, input, output, track, source, metadata, liquidsoap, video, midi, visualization };

/// A method that only this operator's sources have (playlist.reload, request.queue.push). `make` gives its value; it
/// must hold the source weakly or not at all longer than the value lives.
struct OperatorMethod {
    std::string name, type, doc;
    lang::Value (*make)(const SourcePtr& source);
};

/// Every operator also takes `?id : string?` first; the declaration does not repeat it, and Args indices do not count it.
struct Operator {
    std::string name;
    Category category;
    std::string doc;
    std::vector<lang::BuiltinParam> params;
    std::string result;                       ///< "source(audio=pcm('a), 'b)"; outputs: "unit", which gets the methods of sources and outputs
    SourcePtr (*build)(Args& args) = nullptr; ///< throws Error; an Output is attached to its clock by RegisterOperator
    std::vector<OperatorMethod> methods;
    std::string deprecated;
};

class RegisterOperator {
public:
    explicit RegisterOperator(Operator op);
};

}  // namespace castile::script
