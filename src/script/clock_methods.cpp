#include "script/clock_methods.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "lang/diag.h"
#include "sched/scheduler.h"
#include "script/values.h"

namespace castile::script {

namespace {

using lang::BuiltinArgs;
using lang::BuiltinParam;
using lang::CallArgument;
using lang::ForeignMethod;
using lang::Value;

/// What a clock tells of its sources: good for names, not for streaming.
const lang::ForeignKind clock_source_kind{"clock_source"};

Value source_list(const Value& self, std::optional<ClockMember::Kind> kind) {
    std::vector<Value> list;
    for (const ClockMember& member : clock_members(*clock_from_value(self)))
        if (!kind || member.kind == *kind) list.push_back(Value::foreign(clock_source_kind, std::make_shared<std::string>(member.id)));
    return Value::list(std::move(list));
}

ForeignMethod method(std::string name, std::string doc, std::vector<BuiltinParam> params, std::string result,
                     Value (*call)(const Value&, const BuiltinArgs&)) {
    return {"clock", std::move(name), std::move(doc), std::move(params), std::move(result), call, ""};
}

ForeignMethod settable(std::string name, std::string doc, std::string type, Value (*call)(const Value&, const BuiltinArgs&)) {
    return {"clock", std::move(name), std::move(doc), {}, "", call, "(() -> " + type + ").{set : (" + type + ") -> unit}"};
}

Value reference(std::function<Value()> get, std::function<void(const Value&)> set) {
    return Value::function([get = std::move(get)](std::span<const CallArgument>) { return get(); })
        .with_method("set", Value::function([set = std::move(set)](std::span<const CallArgument> arguments) {
                         set(arguments[0].value);
                         return Value::unit();
                     }));
}

[[noreturn]] void invalid_state(Clock& clock) { throw lang::RuntimeError("clock", fmt::format("Invalid clock state: {}", clock.sync())); }

const std::string sources_type = "[clock_source.{id : () -> string}]";

std::vector<ForeignMethod> make_methods() {
    return {
        method("active_sources", "The active sources of the clock: those that stream also when nobody reads them.", {}, sources_type,
               [](const Value& self, const BuiltinArgs&) { return source_list(self, ClockMember::Kind::active); }),
        method("dump", "The clock's sources as a tree.", {}, "string",
               [](const Value& self, const BuiltinArgs&) { return Value::string(dump_sources(*clock_from_value(self))); }),
        settable("id", "The clock's name.", "string",
                 [](const Value& self, const BuiltinArgs&) {
                     const ClockPtr clock = clock_from_value(self);
                     return reference([clock] { return Value::string(clock->id()); }, [clock](const Value& id) { clock->set_id(id.as_string()); });
                 }),
        method("outputs", "The outputs of the clock.", {}, sources_type,
               [](const Value& self, const BuiltinArgs&) { return source_list(self, ClockMember::Kind::output); }),
        method("passive_sources", "The sources of the clock that stream when they are read.", {}, sources_type,
               [](const Value& self, const BuiltinArgs&) { return source_list(self, ClockMember::Kind::passive); }),
        settable("priority", "When the machine is too slow for all, clocks of lower priority are late first.", "int",
                 [](const Value& self, const BuiltinArgs&) {
                     const ClockPtr clock = clock_from_value(self);
                     return reference([clock] { return Value::integer(clock->priority()); },
                                      [clock](const Value& priority) { clock->set_priority(static_cast<int>(priority.as_int())); });
                 }),
        method("self_sync", "Is the clock paced by something other than the computer's clock, a sound card say?", {}, "bool",
               [](const Value& self, const BuiltinArgs&) { return Value::boolean(clock_from_value(self)->self_sync()); }),
        method("sources", "All sources of the clock.", {}, sources_type, [](const Value& self, const BuiltinArgs&) { return source_list(self, std::nullopt); }),
        method("start", "Start the clock.", {{"force", "bool", "true", "Also when it has no output."}}, "unit",
               [](const Value& self, const BuiltinArgs& args) {
                   const ClockPtr clock = clock_from_value(self);
                   if (std::string_view(clock->sync()) == "stopping") invalid_state(*clock);
                   try {
                       clock->start(scheduler(), args[0].as_bool());
                   } catch (const ClockError& e) {
                       throw_clock_error(args.call_site(), e);
                   } catch (const Error& e) {
                       throw lang::RuntimeError("clock", e.what());
                   }
                   return Value::unit();
               }),
        method("stop", "Stop the clock: its outputs are closed, until it is started again.", {}, "unit",
               [](const Value& self, const BuiltinArgs&) {
                   clock_from_value(self)->stop();
                   return Value::unit();
               }),
        method("sub_clocks", "The clocks that this one drives.", {}, "[clock]",
               [](const Value& self, const BuiltinArgs&) {
                   std::vector<Value> list;
                   for (const ClockPtr& clock : clock_from_value(self)->sub_clocks()) list.push_back(to_value(clock));
                   return Value::list(std::move(list));
               }),
        method("sync", "How the clock keeps time: \"auto\", \"cpu\", \"none\" or \"passive\" while it runs, else \"stopping\" or \"stopped\".", {}, "string",
               [](const Value& self, const BuiltinArgs&) { return Value::string(clock_from_value(self)->sync()); }),
        method("tick", "One tick of a passive clock.", {}, "unit",
               [](const Value& self, const BuiltinArgs&) {
                   const ClockPtr clock = clock_from_value(self);
                   if (!clock->running() || clock->mode() != ClockMode::passive || clock->owner()) invalid_state(*clock);
                   clock->tick();
                   return Value::unit();
               }),
        method("ticks", "How often the clock has ticked.", {}, "int",
               [](const Value& self, const BuiltinArgs&) { return Value::integer(clock_from_value(self)->tick_count()); }),
        method("unify", "Make this clock and another one the same. One of them must be stopped.", {{"", "clock", nullptr, "The other clock."}}, "unit",
               [](const Value& self, const BuiltinArgs& args) {
                   try {
                       Clock::unify(clock_from_value(self), clock_from_value(args[0]));
                   } catch (const ClockError& e) {
                       throw_clock_error(args.call_site(), e);
                   }
                   return Value::unit();
               }),
    };
}

const bool registered = [] {
    for (ForeignMethod& m : make_methods()) lang::RegisterBuiltin registration(std::move(m));
    lang::RegisterBuiltin id(ForeignMethod{"clock_source", "id", "The source's name.", {}, "string",
                                           [](const Value& self, const BuiltinArgs&) { return Value::string(*self.as_foreign<std::string>()); }, ""});
    return true;
}();

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// The variable that the line of a position defines: "b" for "at radio.liq, line 3, char 4-16" when that is `b = sine()`. Only of
/// the file of `call`.
std::string variable_at(const std::string& position, lang::Span call) {
    const std::string file = lang::source_map().describe(call), mark = ", line ";
    const auto at = position.find(mark);
    if (at == position.npos || position.compare(0, at + mark.size(), file, 0, at + mark.size()) != 0) return {};
    const std::string& text = lang::source_map().text(call.file);
    std::size_t begin = 0;
    for (int line = std::atoi(position.c_str() + at + mark.size()); line > 1; --line) {
        begin = text.find('\n', begin);
        if (begin++ == text.npos) return {};
    }
    while (begin < text.size() && (text[begin] == ' ' || text[begin] == '\t')) ++begin;
    std::size_t end = begin;
    while (end < text.size() && in_word(text[end])) ++end;
    std::size_t next = end;
    while (next < text.size() && text[next] == ' ') ++next;
    const bool defines = next + 1 < text.size() && text[next] == '=' && text[next + 1] != '=';
    return defines ? text.substr(begin, end - begin) : std::string();
}

/// `add([a, b])` -> `add([a, buffer(id="b.buffer", b)])`, for a call on one line that names the variable.
std::string mended(lang::Span call, const std::string& position) {
    if (!lang::source_map().known(call)) return {};
    const std::string name = variable_at(position, call);
    const std::string& text = lang::source_map().text(call.file);
    if (name.empty() || call.end > text.size() || call.end <= call.begin || call.end - call.begin > 120) return {};
    std::string line = text.substr(call.begin, call.end - call.begin);
    if (line.find('\n') != line.npos) return {};
    for (std::size_t at = 0; (at = line.find(name, at)) != line.npos; at += name.size()) {
        const std::size_t end = at + name.size();
        if ((at > 0 && (in_word(line[at - 1]) || line[at - 1] == '.')) || (end < line.size() && (in_word(line[end]) || line[end] == '('))) continue;
        return line.replace(at, name.size(), fmt::format("buffer(id=\"{}.buffer\", {})", name, name));
    }
    return {};
}

std::string line_of(const std::string& file, int line) {
    const lang::SourceMap& map = lang::source_map();
    for (std::uint32_t i = 1; i < map.size(); ++i) {
        if (map.name(i) != file) continue;
        const std::string& text = map.text(i);
        std::size_t begin = 0;
        for (; line > 1 && begin != text.npos; --line)
            if (begin = text.find('\n', begin); begin != text.npos) ++begin;
        if (begin == text.npos) return {};
        return text.substr(begin, text.find('\n', begin) - begin);
    }
    return {};
}

}  // namespace

// "at radio.liq, line 3, char 4-61" -> `b = buffer(id="b.buffer", input.alsa())`
std::string with_buffer(const ClockError& error) {
    const std::string& position = error.input_position();
    const auto line_mark = position.find(", line "), char_mark = position.find(", char ");
    if (!position.starts_with("at ") || line_mark == position.npos || char_mark == position.npos || char_mark < line_mark) return {};
    int line = 0;
    std::size_t begin = 0, end = 0;
    if (std::sscanf(position.c_str() + line_mark, ", line %d, char %zu-%zu", &line, &begin, &end) != 3 || end <= begin) return {};
    std::string text = line_of(position.substr(3, line_mark - 3), line);
    const bool plain = std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });  // a column is a byte then
    if (end > text.size() || text.size() > 120 || !plain) return {};
    std::size_t word = 0;
    while (word < text.size() && in_word(text[word])) ++word;
    const bool defines = word > 0 && text.substr(word).starts_with(" = ");
    const std::string made = text.substr(begin, end - begin);
    return "\nFor instance:\n" + text.replace(begin, end - begin, defines ? fmt::format("buffer(id=\"{}.buffer\", {})", text.substr(0, word), made) : fmt::format("buffer({})", made));
}

void throw_clock_error(lang::Span call_site, const ClockError& error) {
    lang::Diagnostic diagnostic;
    diagnostic.code = error.code();
    diagnostic.span = call_site;
    diagnostic.message = error.what();
    if (const std::string fix = mended(call_site, error.input_position()); !fix.empty()) diagnostic.message += "\nFor instance:\n" + fix;
    else diagnostic.message += with_buffer(error);
    throw lang::ScriptError(std::move(diagnostic));
}

}  // namespace castile::script
