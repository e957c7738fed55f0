// add: several sources at once.

#include "operators/composition.h"
#include "operators/mix.h"

namespace castile::operators {

namespace {

using script::Args;
using script::Category;
using script::RegisterOperator;

enum : unsigned { normalize, power, weights, sources };

std::function<double()> weight_of(const lang::Value& value) {
    if (value.kind() != lang::Value::Kind::function) return [constant = value.as_float()] { return constant; };
    return [getter = std::make_shared<script::Getter<double>>(value, 1.)] { return getter->get(); };
}

SourcePtr build_add(Args& args) {
    std::vector<Mix::Input> inputs;
    const auto given = args.value(weights).elements();
    if (given.size() > args.value(sources).elements().size()) args.invalid(weights, "there are more weights than sources.");
    for (const lang::Value& value : args.value(sources).elements()) {
        Mix::Input input{script::source_from_value(value)};
        if (inputs.size() < given.size())
            input.weight = weight_of(given[inputs.size()]);
        else if (const lang::Value* own = value.own_method("weight"); own && !own->is_null())
            input.weight = weight_of(*own);
        inputs.push_back(std::move(input));
    }
    return std::make_shared<Mix>("add", std::move(inputs), bool_getter(args.value(normalize), true), bool_getter(args.value(power), false));
}

const RegisterOperator add{{
    .name = "add",
    .category = Category::audio,
    .doc = "Play sources at the same time. Tracks are those of the first that is ready, metadata those of all.",
    .params = {
        {"normalize", "{bool}", "true", "Divide by the sum of the weights of the sources that are ready."},
        {"power", "{bool}", "false", "Divide by the root of the sum of the squared weights instead: the power stays the same."},
        {"weights", "[{float}]", "[]", "The weight of each source; 1 for the rest."},
        {"", "[source('a)]", nullptr, "The sources."},
    },
    .result = "source('a)",
    .build = build_add,
}};

}  // namespace

}  // namespace castile::operators
