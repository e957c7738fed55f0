// OSC messages over UDP (liblo): values that follow a path, callbacks, sending.

#include <lo/lo.h>

#include <limits>
#include <map>
#include <mutex>

#include "base/log.h"
#include "base/settings.h"
#include "builtins/define.h"
#include "builtins/lifecycle.h"

namespace castile::builtins {

namespace {

const Logger logger("osc");

Setting<int> port{"osc.port", 7777, "UDP port that OSC messages come in on."};

/// Calls a handler with the value of a message.
using Handler = std::function<void(const Value&)>;

/// One argument of a message: what it is for us ('f', 'i', 'b', 's'; 0 for what we do not know), and its value.
std::pair<char, Value> argument(char type, const lo_arg* a) {
    switch (type) {
    case LO_FLOAT: return {'f', number(static_cast<double>(a->f))};
    case LO_DOUBLE: return {'f', number(a->d)};
    case LO_INT32: return {'i', integer(a->i)};
    case LO_INT64: return {'i', integer(a->h)};
    case LO_TRUE: case LO_FALSE: return {'b', boolean(type == LO_TRUE)};
    case LO_STRING: case LO_SYMBOL: return {'s', text(&a->s)};
    default: return {'\0', Value()};
    }
}

/// Receives on a thread of its own from the start of the script to its end, once something listens.
class Server {
public:
    static Server& get() {
        static Server* server = new Server;
        return *server;
    }

    void listen(const std::string& path, const std::string& types, Handler handler) {
        {
            std::lock_guard lock(handlers_mutex_);
            handlers_[{path, types}].push_back(std::move(handler));
            if (std::exchange(wanted_, true)) return;
        }
        // Not before: the process may still become a daemon, and threads do not survive that.
        when_started(native([this](std::span<const CallArgument>) {
            start();
            return Value();
        }));
    }

private:
    void start() {
        const std::string number = std::to_string(port.get());
        lo_server_thread thread = lo_server_thread_new(number.c_str(), [](int, const char* message, const char*) {
            logger.important("{}", message ? message : "error");
        });
        if (!thread) {
            logger.important("OSC messages cannot be received on port {}.", number);
            return;
        }
        lo_server_thread_add_method(thread, nullptr, nullptr, receive, this);
        lo_server_thread_start(thread);
        logger.info("Receiving OSC messages on port {}.", number);
        at_shutdown(native([thread](std::span<const CallArgument>) {
            lo_server_thread_stop(thread);
            lo_server_thread_free(thread);
            return Value();
        }));
    }

    static int receive(const char* path, const char* types, lo_arg** arguments, int count, lo_message, void* self) {
        std::string kinds;
        std::vector<Value> values;
        for (int i = 0; i < count; ++i) {
            auto [kind, value] = argument(types[i], arguments[i]);
            kinds += kind;
            values.push_back(std::move(value));
        }
        auto& server = *static_cast<Server*>(self);
        std::vector<Handler> handlers;
        {
            std::lock_guard lock(server.handlers_mutex_);
            if (const auto it = server.handlers_.find({path, kinds}); it != server.handlers_.end()) handlers = it->second;
        }
        if (handlers.empty()) return 0;
        const Value whole = values.size() == 1 ? values[0] : Value::tuple(std::move(values));
        for (const Handler& handler : handlers) handler(whole);
        return 0;
    }

    std::mutex handlers_mutex_;
    std::map<std::pair<std::string, std::string>, std::vector<Handler>> handlers_;   // by path and types
    bool wanted_ = false;
};

void add(lo_message message, const Value& v) {
    switch (v.kind()) {
    case Value::Kind::floating: lo_message_add_float(message, static_cast<float>(v.as_float())); break;
    case Value::Kind::string: lo_message_add_string(message, v.as_string().c_str()); break;
    case Value::Kind::boolean: v.as_bool() ? lo_message_add_true(message) : lo_message_add_false(message); break;
    case Value::Kind::integer:
        if (v.as_int() >= std::numeric_limits<std::int32_t>::min() && v.as_int() <= std::numeric_limits<std::int32_t>::max())
            lo_message_add_int32(message, static_cast<std::int32_t>(v.as_int()));
        else lo_message_add_int64(message, v.as_int());
        break;
    default: break;
    }
}

Value send(const BuiltinArgs& a) {
    lo_address address = lo_address_new(a[0].as_string().c_str(), std::to_string(a[1].as_int()).c_str());
    lo_message message = lo_message_new();
    if (a[3].kind() == Value::Kind::tuple)
        for (const Value& v : a[3].elements()) add(message, v);
    else add(message, a[3]);
    if (!address || lo_send_message(address, a[2].as_string().c_str(), message) < 0)
        logger.info("A message to {}:{} could not be sent.", a[0].as_string(), a[1].as_int());
    lo_message_free(message);
    if (address) lo_address_free(address);
    return Value();
}

Value follow(const std::string& path, const std::string& types, const Value& initial) {
    Value cell = Value::reference(initial);
    Server::get().listen(path, types, [cell](const Value& v) { cell.find_method("set")->call({v}); });
    return native([cell](std::span<const CallArgument>) { return cell.call(); });
}

/// osc.NAME, osc.on_NAME and osc.send_NAME for one type.
void declare(const std::string& name, const char* type, const char* types) {
    const BuiltinParam path = pos("string", "OSC path.");
    const std::string codes = types, value_type = type;
    lang::RegisterBuiltin(Builtin{"osc." + name, "Interaction", "A value that follows what comes in for an OSC path.",
        {path, pos(type, "Initial value.")}, "() -> " + value_type, {}, "", false, nullptr,
        [codes](const BuiltinArgs& a) { return follow(a[0].as_string(), codes, a[1]); }});
    lang::RegisterBuiltin(Builtin{"osc.on_" + name, "Interaction", "Call a function on each value that comes in for an OSC path.",
        {path, BuiltinParam{"", "(" + value_type + ") -> unit", nullptr, "What to call."}}, "unit", {}, "", false, nullptr,
        [codes](const BuiltinArgs& a) {
            Server::get().listen(a[0].as_string(), codes, [f = a[1]](const Value& v) {
                run_task(native([&](std::span<const CallArgument>) { return f.call({v}); }));
            });
            return Value();
        }});
    lang::RegisterBuiltin(Builtin{"osc.send_" + name, "Interaction", "Send a value to an OSC server.",
        {arg("host", "string", "Its host."), arg("port", "int", "Its port."), path, pos(type, "What to send.")}, "unit", {}, "", false, send, nullptr});
}

const bool declared = [] {
    declare("float", "float", "f");
    declare("float_pair", "(float * float)", "ff");
    declare("int", "int", "i");
    declare("int_pair", "(int * int)", "ii");
    declare("bool", "bool", "b");
    declare("string", "string", "s");
    declare("string_pair", "(string * string)", "ss");
    return true;
}();

}  // namespace

}  // namespace castile::builtins
