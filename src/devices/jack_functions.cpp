// jack.server.*: what a script asks of a JACK server.

#include <fmt/format.h>

#include "base/error.h"
#include "devices/jack_links.h"
#include "devices/jack_values.h"
#include "lang/builtin.h"

namespace castile::devices {

namespace {

using lang::Builtin;
using lang::BuiltinArgs;
using lang::BuiltinParam;
using lang::RuntimeError;
using lang::Value;

JackServer& server_of(const Value& name) { return JackServer::named(name.is_null() ? std::string() : name.as_string()); }

/// Calls f; what goes wrong is the script's error "jack".
template <class F> auto asked(F f) {
    try {
        return f();
    } catch (const castile::Error& error) {
        throw RuntimeError("jack", error.what());
    }
}

unsigned long flag_of(const std::string& word) {
    if (word == "is_physical") return JackPortIsPhysical;
    if (word == "can_monitor") return JackPortCanMonitor;
    if (word == "is_terminal") return JackPortIsTerminal;
    throw RuntimeError("jack", fmt::format("There is no flag \"{}\" of JACK's ports; there are is_physical, can_monitor and is_terminal.", word));
}

const char* type_of(const std::string& word) {
    if (word == "audio") return JACK_DEFAULT_AUDIO_TYPE;
    if (word == "midi") return JACK_DEFAULT_MIDI_TYPE;
    throw RuntimeError("jack", fmt::format("JACK's ports are of type \"audio\" or \"midi\", not \"{}\".", word));
}

Value found_ports(PortKind kind, const BuiltinArgs& args) {
    JackServer& server = server_of(args[0]);
    unsigned long flags = kind == PortKind::input ? JackPortIsInput : JackPortIsOutput;
    for (const Value& word : args[3].elements()) flags |= flag_of(word.as_string());
    const char* const type = type_of(args[2].as_string());
    return port_values(kind, server, asked([&] { return server.ports(args[1].as_string(), type, flags); }), false);
}

/// The physical ports as something that can be connected: {ports, connect, on_wake_up}.
Value physical(PortKind kind, const BuiltinArgs& args) {
    JackServer& server = server_of(args[0]);
    const unsigned long flags = JackPortIsPhysical | (kind == PortKind::input ? JackPortIsInput : JackPortIsOutput);
    const Value ports = Value::function([kind, &server, flags](std::span<const lang::CallArgument>) {
        return port_values(kind, server, asked([&] { return server.ports("", JACK_DEFAULT_AUDIO_TYPE, flags); }), false);
    });
    Value record = Value::unit().with_method("ports", ports);
    // What it is connected with makes the connection, since that comes and goes.
    record = record.with_method("connect", Value::function([record, kind, &server](std::span<const lang::CallArgument> arguments) {
        const Value& other = arguments[0].value;
        if (const auto connect = other.find_method("connect")) return connect->call({record});
        const auto names = [](const Value& with_ports) {
            std::vector<std::string> all;
            for (const Value& port : with_ports.find_method("ports")->call().elements()) all.push_back(port_name(port));
            return all;
        };
        const std::vector<std::string> ours = names(record), theirs = names(other);
        if (ours.empty() || theirs.empty()) throw RuntimeError("jack", "There are no ports to connect.");
        asked([&] {
            for (const auto& [output, input] : kind == PortKind::output ? pair_ports(ours, theirs) : pair_ports(theirs, ours)) server.connect(output, input);
        });
        return Value::unit();
    }));
    return record.with_method("on_wake_up", Value::function([](std::span<const lang::CallArgument> arguments) {
        for (const auto& argument : arguments)
            if (argument.label == Name()) argument.value.call();
        return Value::unit();
    }));
}

const BuiltinParam& server_param() {
    static const BuiltinParam param{"server", "string?", "null", "Name of the JACK server; `null` or \"\": the default one. A process talks to one at a time."};
    return param;
}

std::vector<BuiltinParam> search_params() {
    return {server_param(),
            {"pattern", "string", "\"\"", "Regular expression that the whole name must contain; \"\": all ports."},
            {"type", "string", "\"audio\"", "\"audio\" or \"midi\"."},
            {"flags", "[string]", "[]", "Only ports that are all of these: \"is_physical\", \"can_monitor\", \"is_terminal\"."}};
}

void declare(const char* name, const char* doc, std::vector<BuiltinParam> params, const char* result, std::vector<lang::BuiltinMethod> methods, Value (*call)(const BuiltinArgs&)) {
    lang::RegisterBuiltin(Builtin{name, "Liquidsoap", doc, std::move(params), result, std::move(methods), "", false, call, nullptr});
}

const bool declared = [] {
    declare("jack.server.sample_rate", "Samples a second of a JACK server. An error of kind \"jack\" when it does not run.", {server_param()}, "int", {},
            [](const BuiltinArgs& args) { return Value::integer(asked([&] { return server_of(args[0]).sample_rate(); })); });
    declare("jack.server.buffer_size", "Samples of one period of a JACK server. An error of kind \"jack\" when it does not run.", {server_param()}, "int", {},
            [](const BuiltinArgs& args) { return Value::integer(asked([&] { return server_of(args[0]).buffer_size(); })); });
    declare("jack.server.get_input_ports", "The ports of a JACK server that take sound.", search_params(), "[jack_input_port]", {},
            [](const BuiltinArgs& args) { return found_ports(PortKind::input, args); });
    declare("jack.server.get_output_ports", "The ports of a JACK server that give sound.", search_params(), "[jack_output_port]", {},
            [](const BuiltinArgs& args) { return found_ports(PortKind::output, args); });
    declare("jack.server.connect", "Connect two ports of a JACK server.",
            {server_param(), {"", "jack_input_port", nullptr, "Where the sound goes."}, {"", "jack_output_port", nullptr, "Where it comes from."}}, "unit", {},
            [](const BuiltinArgs& args) {
                asked([&] { server_of(args[0]).connect(port_name(args[2]), port_name(args[1])); });
                return Value::unit();
            });
    declare("jack.server.capture", "What a JACK server's sound card records, to be connected with an `input.jack`.", {server_param()}, "unit",
            {{"connect", "('A.{ports : () -> [jack_input_port]}) -> unit", "Connect it, once that is there."},
             {"on_wake_up", "(?synchronous : bool, (() -> unit)) -> unit", "Call a function at once: a sound card is always awake."},
             {"ports", "() -> [jack_output_port]", "Its ports."}},
            [](const BuiltinArgs& args) { return physical(PortKind::output, args); });
    declare("jack.server.playback", "What a JACK server's sound card plays, to be connected with an `output.jack`.", {server_param()}, "unit",
            {{"connect", "('A.{ports : () -> [jack_output_port]}) -> unit", "Connect it, once that is there."},
             {"on_wake_up", "(?synchronous : bool, (() -> unit)) -> unit", "Call a function at once: a sound card is always awake."},
             {"ports", "() -> [jack_input_port]", "Its ports."}},
            [](const BuiltinArgs& args) { return physical(PortKind::input, args); });
    return true;
}();

}  // namespace

}  // namespace castile::devices
