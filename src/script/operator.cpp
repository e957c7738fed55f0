#include "script/operator.h"

#include <memory>
#include <utility>

#include "base/error.h"
#include "clock/clock_error.h"
#include "lang/diag.h"
#include "script/clock_methods.h"
#include "script/commands.h"
#include "script/source_methods.h"

namespace castile::script {

namespace {

const char* category_name(Category category) {
    switch (category) {
        case Category::audio: return "Source / Audio processing";
        case Category::conversion: return "Source / Conversion";
        case Category::fade: return "Source / Fade";
        case Category::input: return "Source / Input";
        case Category::output: return "Source / Output";
        case Category::track: return "Source / Track processing";
        case Category::source: return "Source / Liquidsoap";
        case Category::metadata: return "Metadata";
        case Category::liquidsoap: return "Liquidsoap";
        case Category::video: return "Source / Video processing";
        case Category::midi: return "Source / MIDI processing";
        case Category::visualization: return "Source / Visualization";
    }
    return "Uncategorized";
}

bool gives_unit(const Operator& op) { return op.result == "unit"; }

// Outputs may be told to have none.
bool wants_commands(const Operator& op, const lang::BuiltinArgs& own) {
    for (std::size_t i = 0; i < op.params.size(); ++i)
        if (op.params[i].label == "register_telnet") return own[i].as_bool();
    return true;
}

lang::Value call(const Operator& op, const lang::BuiltinArgs& values) {
    const lang::BuiltinArgs own(values.size() > 1 ? std::span(&values[1], values.size() - 1) : std::span<const lang::Value>(),
                                values.call_site());
    Args args(own, op.name);
    SourcePtr source;
    std::shared_ptr<Output> output;
    try {
        source = op.build(args);
        source->set_position(lang::source_map().describe(values.call_site()));
        if (const auto id = value_as<std::optional<std::string>>(values[0]); id && !id->empty()) source->set_id(*id);
        output = std::dynamic_pointer_cast<Output>(source);
        if (output) attach_output(output);
    } catch (const ClockError& error) {
        throw_clock_error(values.call_site(), error);
    } catch (const Error& error) {
        throw_invalid(values.call_site(), op.name, error.what());
    }
    lang::Value result = gives_unit(op) ? with_source_methods(lang::Value::unit(), source) : to_value(source);
    if (output && op.category == Category::output) {
        result = with_output_methods(std::move(result), output);
        if (wants_commands(op, own)) add_output_commands(output);
    }
    for (const OperatorMethod& method : op.methods) result = std::move(result).with_method(method.name, method.make(source));
    return result;
}

}  // namespace

RegisterOperator::RegisterOperator(Operator op) {
    lang::Builtin builtin;
    builtin.name = op.name;
    builtin.category = category_name(op.category);
    builtin.doc = op.doc;
    builtin.params.push_back({"id", "string?", "null", "Name of the source in the log and in commands."});
    builtin.params.insert(builtin.params.end(), op.params.begin(), op.params.end());
    builtin.result = op.result;
    if (gives_unit(op))
        for (const lang::ForeignMethod& method : source_methods()) builtin.methods.push_back({method.name, method_type(method), method.doc});
    if (op.category == Category::output)
        for (lang::BuiltinMethod method : output_methods()) builtin.methods.push_back(std::move(method));
    for (const OperatorMethod& own : op.methods) {
        std::erase_if(builtin.methods, [&](const lang::BuiltinMethod& m) { return m.name == own.name; });
        builtin.methods.push_back({own.name, own.type, own.doc});
    }
    builtin.deprecated = op.deprecated;
    auto shared = std::make_shared<const Operator>(std::move(op));
    builtin.closure = [shared](const lang::BuiltinArgs& values) { return call(*shared, values); };
    lang::RegisterBuiltin registered(std::move(builtin));
}

}  // namespace castile::script
