#include "script/source_methods.h"

#include <atomic>
#include <limits>
#include <mutex>
#include <unordered_map>

#include "script/args.h"
#include "script/commands.h"
#include "script/watchers.h"

namespace castile::script {

namespace {

using lang::BuiltinArgs;
using lang::BuiltinParam;
using lang::CallArgument;
using lang::ForeignMethod;
using lang::Value;

constexpr double unknown = std::numeric_limits<double>::infinity();

double seconds_or_unknown(std::optional<Ticks> t) { return t ? to_seconds(*t) : unknown; }

// A getter function with a `set` method, as settings have them.
Value settable(std::function<Value()> get, std::function<void(const Value&)> set) {
    return Value::function([get = std::move(get)](std::span<const CallArgument>) { return get(); })
        .with_method("set", Value::function([set = std::move(set)](std::span<const CallArgument> arguments) {
                         set(arguments[0].value);
                         return Value::unit();
                     }));
}

Value log_record(const Value&, const BuiltinArgs&) {
    // One level for the whole process: a source's own is kept but not looked at.
    auto level = std::make_shared<std::atomic<std::int64_t>>(static_cast<int>(LogLevel::important));
    return Value::unit().with_method(
        "level", settable([level] { return Value::integer(*level); }, [level](const Value& v) { *level = v.as_int(); }));
}

// A function, since declarations of other files read the table while they are being made, before constants of this one are.
BuiltinParam synchronous_param() {
    return {"synchronous", "bool", "false",
            "Call in the middle of streaming rather than as a task of its own. Only for what takes no time."};
}

ForeignMethod method(std::string name, std::string doc, std::vector<BuiltinParam> params, std::string result,
                     Value (*call)(const Value&, const BuiltinArgs&)) {
    return {"source", std::move(name), std::move(doc), std::move(params), std::move(result), call, ""};
}

ForeignMethod constant(std::string name, std::string doc, std::string type, Value (*call)(const Value&, const BuiltinArgs&)) {
    return {"source", std::move(name), std::move(doc), {}, "", call, std::move(type)};
}

std::vector<ForeignMethod> make_queries() {
    return {
        method("buffered", "Length of the buffered data, in seconds, by name of the buffer.", {}, "[string * float]",
               [](const Value&, const BuiltinArgs&) { return Value::list({}); }),
        method("clear_last_metadata", "Forget the last metadata.", {}, "unit",
               [](const Value& self, const BuiltinArgs&) {
                   order(source_from_value(self), [](Source& s) { s.clear_last_metadata(); });
                   return Value::unit();
               }),
        constant("clock", "The clock that drives the source.", "clock",
                 [](const Value& self, const BuiltinArgs&) { return to_value(source_from_value(self)->clock()); }),
        method("duration", "Length of the current track in seconds; infinite when not known.", {}, "float",
               [](const Value& self, const BuiltinArgs&) {
                   const SourcePtr source = source_from_value(self);
                   return Value::floating(source->elapsed().value_or(0) + seconds_or_unknown(source->remaining()));
               }),
        method("elapsed", "Seconds played of the current track.", {}, "float",
               [](const Value& self, const BuiltinArgs&) { return Value::floating(source_from_value(self)->elapsed().value_or(0)); }),
        constant("fallible", "May the source have nothing to play?", "bool",
                 [](const Value& self, const BuiltinArgs&) { return Value::boolean(source_from_value(self)->fallible()); }),
        method("id", "The source's identifier.", {}, "string",
               [](const Value& self, const BuiltinArgs&) { return Value::string(source_from_value(self)->id()); }),
        method("is_active", "Does the source drive its clock, as an output does?", {}, "bool",
               [](const Value& self, const BuiltinArgs&) {
                   return Value::boolean(std::dynamic_pointer_cast<Active>(source_from_value(self)) != nullptr);
               }),
        method("is_ready", "Has the source something to play now?", {}, "bool",
               [](const Value& self, const BuiltinArgs&) { return Value::boolean(source_from_value(self)->was_ready()); }),
        method("is_up", "Is the source awake: prepared for streaming, or streaming?", {}, "bool",
               [](const Value& self, const BuiltinArgs&) { return Value::boolean(source_from_value(self)->awake()); }),
        method("last_metadata", "The last metadata that the source gave, if any.", {}, "[string * string]?",
               [](const Value& self, const BuiltinArgs&) {
                   const MetadataPtr metadata = source_from_value(self)->last_metadata();
                   return metadata ? to_value(*metadata) : Value::null();
               }),
        constant("log", "The source's log.", "{level : (() -> int).{set : (int) -> unit}}", log_record),
        method("remaining", "Seconds left of the current track; infinite when not known.", {}, "float",
               [](const Value& self, const BuiltinArgs&) {
                   return Value::floating(seconds_or_unknown(source_from_value(self)->remaining()));
               }),
        constant("reset_last_metadata_on_track", "Is the last metadata forgotten when a track without any begins?",
                 "(() -> bool).{set : (bool) -> unit}",
                 [](const Value&, const BuiltinArgs&) {
                     auto reset = std::make_shared<std::atomic<bool>>(true);
                     return settable([reset] { return Value::boolean(*reset); }, [reset](const Value& v) { *reset = v.as_bool(); });
                 }),
        method("self_sync", "Is the source paced by something other than the computer's clock, a sound card say?", {}, "bool",
               [](const Value& self, const BuiltinArgs&) { return Value::boolean(source_from_value(self)->self_sync()); }),
        method("self_sync_description", "What paces the source.", {}, "string",
               [](const Value& self, const BuiltinArgs&) {
                   return Value::string(source_from_value(self)->self_sync() ? "by its device" : "no");
               }),
        method("time", "Stream time of the source's clock, in seconds.", {}, "float",
               [](const Value& self, const BuiltinArgs&) {
                   const Ticks frame = stream_parameters().frame_size;
                   return Value::floating(to_seconds(Ticks{frame.count * source_from_value(self)->clock()->tick_count()}));
               }),
    };
}

std::vector<ForeignMethod> make_orders() {
    return {
        method("generate_frame", "Make the source advance by one frame.", {}, "unit",
               [](const Value& self, const BuiltinArgs&) {
                   order(source_from_value(self), [](Source& s) { if (s.ready()) s.frame(); });
                   return Value::unit();
               }),
        method("insert_metadata", "Send metadata with the next frame.",
               {{"override", "bool", "false", "Replace the metadata that the frame has already."},
                {"new_track", "bool", "false", "Begin a track with it?"},
                {"", "[string * string]", nullptr, "The metadata."}},
               "unit",
               [](const Value& self, const BuiltinArgs& args) {
                   source_from_value(self)->insert_metadata_next(
                       std::make_shared<const Metadata>(metadata_from_value(args[2])), args[1].as_bool(), args[0].as_bool());
                   return Value::unit();
               }),
        method("register_command", "Add a command of this source, `id.name`, to the server.",
               {{"usage", "string?", "null", "How to use the command: `name <argument>`."},
                {"description", "string", nullptr, "What it does."},
                {"", "string", nullptr, "Its name."},
                {"", "(string) -> string", nullptr, "From the argument to the answer."}},
               "unit",
               [](const Value& self, const BuiltinArgs& args) {
                   const std::string name = args[2].as_string();
                   add_source_command(source_from_value(self), name, args[0].is_null() ? name : args[0].as_string(),
                                      args[1].as_string(), args[3]);
                   return Value::unit();
               }),
        method("seek", "Go forward (or, when negative, back) in the track by that many seconds, where possible. The move asked for.",
               {{"", "float", nullptr, "Seconds."}}, "float",
               [](const Value& self, const BuiltinArgs& args) {
                   const double seconds = args[0].as_float();
                   order(source_from_value(self), [seconds](Source& s) { s.seek(ticks_from_seconds(seconds)); });
                   return Value::floating(seconds);
               }),
        method("skip", "End the current track.", {}, "unit",
               [](const Value& self, const BuiltinArgs&) {
                   order(source_from_value(self), [](Source& s) { s.skip(); });
                   return Value::unit();
               }),
    };
}

std::vector<ForeignMethod> make_watchers() {
    const BuiltinParam on_void{"", "() -> unit", nullptr, "What to call."};
    const BuiltinParam on_metadata{"", "([string * string]) -> unit", nullptr, "What to call, with the metadata."};
    const std::string release = "{release : () -> unit}";
    return {
        method("on_frame", "Call a function at each frame.",
               {{"before", "bool", "true", "Before or after the frame is made."}, synchronous_param(), on_void}, release,
               [](const Value& self, const BuiltinArgs& args) {
                   return watch_frames(source_from_value(self), Callback(args[2], args[1].as_bool(), "on_frame"));
               }),
        method("on_metadata", "Call a function at each metadata packet.", {synchronous_param(), on_metadata}, release,
               [](const Value& self, const BuiltinArgs& args) {
                   return watch_metadata(source_from_value(self), Callback(args[1], args[0].as_bool(), "on_metadata"));
               }),
        method("on_position", "Call a function once a track, at a position in it.",
               {{"position", "{float}", nullptr, "Seconds from the track's beginning, or from its end."},
                {"remaining", "bool", "false", "Does the position count from the end?"},
                {"allow_partial", "bool", "false", "Call also at the end of a track that never reached the position?"},
                synchronous_param(),
                {"", "(float, [string * string]) -> unit", nullptr, "What to call, with the position and the metadata."}},
               release,
               [](const Value& self, const BuiltinArgs& args) {
                   PositionWatch watch{args[0], args[1].as_bool(), args[2].as_bool()};
                   return watch_position(source_from_value(self), std::move(watch),
                                         Callback(args[4], args[3].as_bool(), "on_position"));
               }),
        method("on_shutdown", "Call a function when the source goes to sleep.", {synchronous_param(), on_void}, release,
               [](const Value& self, const BuiltinArgs& args) {
                   return watch_sleep(source_from_value(self), Callback(args[1], args[0].as_bool(), "on_shutdown"));
               }),
        method("on_track", "Call a function at the beginning of each track.", {synchronous_param(), on_metadata}, release,
               [](const Value& self, const BuiltinArgs& args) {
                   return watch_tracks(source_from_value(self), Callback(args[1], args[0].as_bool(), "on_track"));
               }),
        method("on_wake_up", "Call a function when the source is woken for streaming.", {synchronous_param(), on_void}, release,
               [](const Value& self, const BuiltinArgs& args) {
                   return watch_wake_up(source_from_value(self), Callback(args[1], args[0].as_bool(), "on_wake_up"));
               }),
    };
}

const std::vector<ForeignMethod>& table() {
    static const std::vector<ForeignMethod> methods = [] {
        std::vector<ForeignMethod> all = make_queries();
        for (auto make : {make_orders, make_watchers})
            for (ForeignMethod& m : make()) all.push_back(std::move(m));
        return all;
    }();
    return methods;
}

const bool registered = [] {
    for (const ForeignMethod& m : table()) lang::RegisterBuiltin registration(m);
    return true;
}();

}  // namespace

std::span<const ForeignMethod> source_methods() { return table(); }

std::string method_type(const ForeignMethod& method) {
    if (!method.constant_type.empty()) return method.constant_type;
    std::string type = "(";
    for (const BuiltinParam& param : method.params) {
        if (type.size() > 1) type += ", ";
        if (param.default_value) type += "?";
        if (!param.label.empty()) type += param.label + " : ";
        type += param.type.find("->") != std::string::npos ? "(" + param.type + ")" : param.type;
    }
    return type + ") -> " + method.result;
}

Value with_source_methods(Value value, const SourcePtr& source) {
    const Value self = to_value(source);
    for (const ForeignMethod& m : source_methods())
        if (auto bound = self.find_method(m.name)) value = value.with_method(m.name, std::move(*bound));
    return value;
}

std::span<const lang::BuiltinMethod> output_methods() {
    static const std::vector<lang::BuiltinMethod> methods = {
        {"is_started", "() -> bool", "Is the output started?"},
        {"on_start", "(?synchronous : bool, (() -> unit)) -> {release : () -> unit}", "Call a function when the output starts."},
        {"on_stop", "(?synchronous : bool, (() -> unit)) -> {release : () -> unit}", "Call a function when the output stops."},
        {"shutdown", "() -> unit", "Stop the output for good."},
        {"start", "() -> unit", "Start the output."},
        {"stop", "() -> unit", "Stop the output."},
    };
    return methods;
}

namespace {

// The labelled `synchronous` and the positional function of a bound watcher method.
Callback callback_of(std::span<const CallArgument> arguments, const char* what) {
    Value function;
    bool synchronous = false;
    for (const CallArgument& argument : arguments) {
        if (argument.label == Name("synchronous")) synchronous = argument.value.as_bool();
        else function = argument.value;
    }
    return Callback(std::move(function), synchronous, what);
}

template <class F> Value order_method(const std::shared_ptr<Output>& output, F f) {
    return Value::function([output, f](std::span<const CallArgument>) {
        f(*output);
        return Value::unit();
    });
}

}  // namespace

Value with_output_methods(Value value, const std::shared_ptr<Output>& output) {
    value = value.with_method("is_started", Value::function([output](std::span<const CallArgument>) {
        return Value::boolean(output->started());
    }));
    value = value.with_method("start", order_method(output, [](Output& o) { o.request_start(); }));
    value = value.with_method("stop", order_method(output, [](Output& o) { o.request_stop(); }));
    value = value.with_method("shutdown", order_method(output, [](Output& o) {
        o.request_stop();
        o.clock()->detach(o);
    }));
    value = value.with_method("on_start", Value::function([output](std::span<const CallArgument> arguments) {
        return watch_start(*output, callback_of(arguments, "on_start"));
    }));
    return value.with_method("on_stop", Value::function([output](std::span<const CallArgument> arguments) {
        return watch_stop(*output, callback_of(arguments, "on_stop"));
    }));
}

void order(const SourcePtr& source, std::function<void(Source&)> f) {
    const ClockPtr clock = source->clock();
    if (!clock->running()) return f(*source);
    clock->run_between_ticks([source, f = std::move(f)] { f(*source); });
}

}  // namespace castile::script
