#include "devices/jack_values.h"

#include "base/error.h"
#include "devices/jack_keeper.h"

namespace castile::devices {

namespace {

using lang::CallArgument;
using lang::Value;

std::string print(const void* name) { return *static_cast<const std::string*>(name); }
int order(const void* a, const void* b) { return static_cast<const std::string*>(a)->compare(*static_cast<const std::string*>(b)); }

const lang::ForeignKind& kind_of(PortKind kind) {
    static const lang::ForeignKind input{Name("jack_input_port"), print, order}, output{Name("jack_output_port"), print, order};
    return kind == PortKind::input ? input : output;
}

std::vector<std::string> names_of(const Value& ports) {
    std::vector<std::string> names;
    for (const Value& port : ports.elements()) names.push_back(port_name(port));
    return names;
}

}  // namespace

const std::string& port_name(const Value& port) { return *static_cast<const std::string*>(port.foreign_pointer().get()); }

Value port_value(PortKind kind, JackServer& server, const std::string& name, bool with_methods) {
    Value port = Value::foreign(kind_of(kind), std::make_shared<std::string>(name));
    if (!with_methods) return port;
    port = port.with_method("name", Value::string(name));
    return port.with_method("connect", Value::function([kind, &server, name](std::span<const CallArgument> arguments) {
        const std::string& other = port_name(arguments[0].value);
        try {
            kind == PortKind::input ? server.connect(other, name) : server.connect(name, other);
        } catch (const Error& error) {
            throw lang::RuntimeError("jack", error.what());
        }
        return Value::unit();
    }));
}

Value port_values(PortKind kind, JackServer& server, const std::vector<std::string>& names, bool with_methods) {
    std::vector<Value> values;
    for (const std::string& name : names) values.push_back(port_value(kind, server, name, with_methods));
    return Value::list(std::move(values));
}

Value ports_method(const std::shared_ptr<JackClient>& client) {
    return Value::function([weak = std::weak_ptr(client)](std::span<const CallArgument>) {
        const auto c = weak.lock();
        if (!c) return Value::list({});
        return port_values(c->kind() == JackKind::capture ? PortKind::input : PortKind::output, c->server(), c->port_names(), true);
    });
}

Value connect_method(const std::shared_ptr<JackClient>& client) {
    return Value::function([weak = std::weak_ptr(client)](std::span<const CallArgument> arguments) {
        const auto c = weak.lock();
        if (!c) return Value::unit();
        const JackLink::Ports own = [weak] {
            const auto owner = weak.lock();
            return owner ? owner->port_names() : std::vector<std::string>();
        };
        const JackLink::Ports other = [ports = *arguments[0].value.find_method("ports")] { return names_of(ports.call()); };
        const bool capture = c->kind() == JackKind::capture;
        JackKeeper::get().link({.owner = weak, .outputs = capture ? other : own, .inputs = capture ? own : other});
        return Value::unit();
    });
}

}  // namespace castile::devices
