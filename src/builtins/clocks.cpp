// clock.*: clocks made, joined and told of by scripts; scheduler.stats().

#include <cmath>

#include "builtins/define.h"
#include "clock/clock.h"
#include "lang/eval.h"
#include "sched/scheduler.h"
#include "script/args.h"
#include "script/clock_methods.h"
#include "script/values.h"

namespace castile::builtins {

namespace {

using script::clock_from_value;
using script::to_value;

ClockMode mode_of(const BuiltinArgs& a, std::size_t i) {
    const auto mode = clock_mode(a[i].as_string());
    if (!mode) script::throw_invalid(a.call_site(), "", "Invalid sync mode! Should be one of: `\"auto\"`, `\"cpu\"`, `\"none\"` or `\"passive\"`");
    return *mode;
}

void handle_errors(Clock& clock, const Value& handler) {
    if (handler.is_null()) return;
    clock.on_error([handler](const std::string& message) { handler.call({lang::error_value("output", message)}); });
}

void prioritise(Clock& clock, const Value& priority) {
    if (!priority.is_null()) clock.set_priority(static_cast<int>(priority.as_int()));
}

ClockPtr make(const BuiltinArgs& a, std::size_t id, std::size_t on_error, std::size_t priority, std::size_t sync) {
    const ClockMode mode = mode_of(a, sync);
    const ClockPtr clock = Clock::create(a[id].is_null() ? "" : a[id].as_string(), mode);
    handle_errors(*clock, a[on_error]);
    prioritise(*clock, a[priority]);
    return clock;
}

Value create(const BuiltinArgs& a) { return to_value(make(a, 0, 1, 2, 3)); }

Value assign_new(const BuiltinArgs& a) {
    const ClockPtr clock = make(a, 0, 1, 2, 3);
    for (const Value& source : a[4].elements()) {
        try {
            if (const auto its = source.find_method("clock")) Clock::unify(clock, clock_from_value(*its));
        } catch (const ClockError& e) {
            script::throw_clock_error(a.call_site(), e);
        }
    }
    return Value();
}

Value decorate(const BuiltinArgs& a) {
    prioritise(*clock_from_value(a[1]), a[0]);
    return a[1];
}

Value active(const BuiltinArgs&) {
    std::vector<Value> list;
    for (const ClockPtr& clock : told_clocks()) list.push_back(to_value(clock));
    return Value::list(std::move(list));
}

// --- scheduler.stats() -----------------------------------------------------------------------------------------------

Value lateness(const Lateness& l) {
    std::vector<Value> buckets;
    for (std::size_t i = 0; i < l.counts.size(); ++i)
        buckets.push_back(pair(number(i < Lateness::bounds.size() ? Lateness::bounds[i] : INFINITY), integer(l.counts[i])));
    return Value::list(std::move(buckets));
}

Value worker_record(const WorkerStatistics& w) {
    return Value::record({{Name("index"), integer(w.index)},
                          {Name("kernel"), text(w.service)},
                          {Name("kernel_lost"), boolean(w.service_lost)},
                          {Name("runs"), integer(w.runs)},
                          {Name("late_runs"), integer(w.late_runs)},
                          {Name("lateness"), lateness(w.lateness)},
                          {Name("share"), number(w.share)},
                          {Name("over_limit"), boolean(w.over_limit)},
                          {Name("demotions"), integer(w.demotions)},
                          {Name("clock_seconds"), number(w.clock_seconds)},
                          {Name("handler_seconds"), number(w.handler_seconds)}});
}

Value clock_record(const ClockStatistics& c) {
    return Value::record({{Name("id"), text(c.id)},
                          {Name("sync"), text(c.sync)},
                          {Name("self_sync"), boolean(c.self_sync)},
                          {Name("priority"), integer(c.priority)},
                          {Name("ticks"), integer(c.ticks)},
                          {Name("late_ticks"), integer(c.late_ticks)},
                          {Name("lateness"), lateness(c.lateness)},
                          {Name("share"), number(c.share)},
                          {Name("demoted"), boolean(c.demoted)},
                          {Name("demotions"), integer(c.demotions)},
                          {Name("catchups"), integer(c.catchups)},
                          {Name("catchup_seconds"), number(c.catchup_seconds)},
                          {Name("late"), number(c.late)},
                          {Name("worst_lateness"), number(c.worst_lateness)},
                          {Name("resets"), integer(c.resets)},
                          {Name("busy_seconds"), number(c.busy)},
                          {Name("lead"), number(c.lead)}});
}

const char* const stats_type =
    "{kernel : string, iso_cpu : int, iso_period : float, pauses : int, paused_seconds : float, "
    "workers : [{index : int, kernel : string, kernel_lost : bool, runs : int, late_runs : int, lateness : [float * int], share : float, "
    "over_limit : bool, demotions : int, clock_seconds : float, handler_seconds : float}], "
    "clocks : [{id : string, sync : string, self_sync : bool, priority : int, ticks : int, late_ticks : int, lateness : [float * int], "
    "share : float, demoted : bool, demotions : int, catchups : int, catchup_seconds : float, late : float, worst_lateness : float, "
    "resets : int, busy_seconds : float, lead : float}]}";

Value stats(const BuiltinArgs&) {
    const SchedulerStatistics s = scheduler().statistics();
    std::vector<Value> workers, clocks;
    for (const WorkerStatistics& w : s.workers) workers.push_back(worker_record(w));
    for (const ClockStatistics& c : all_clock_statistics()) clocks.push_back(clock_record(c));
    return Value::record({{Name("kernel"), text(s.kernel)},
                          {Name("iso_cpu"), integer(std::lround(100 * s.iso_cpu))},
                          {Name("iso_period"), number(s.iso_period)},
                          {Name("pauses"), integer(s.pauses)},
                          {Name("paused_seconds"), number(s.paused_seconds)},
                          {Name("workers"), Value::list(std::move(workers))},
                          {Name("clocks"), Value::list(std::move(clocks))}});
}

const BuiltinParam id_param = opt("id", "string?", "null", "Name of the clock.");
const BuiltinParam error_param = opt("on_error", "((error) -> unit)?", "null", "Called with errors of the clock's outputs, which are not logged then.");
const BuiltinParam priority_param = opt("priority", "int?", "null", "When the machine is too slow for all, clocks of lower priority are late first. 0 at first.");
const BuiltinParam sync_param = opt("sync", "string", "\"auto\"",
                                    "\"auto\": paced by a sound card or the like when there is one, else by the computer's clock; \"cpu\": by the computer's clock; "
                                    "\"none\": as fast as it goes; \"passive\": ticks when asked to.");

const Definitions definitions("Liquidsoap", {
    {"clock", "The clock, with its methods.", {priority_param, pos("clock", "The clock.")}, "clock", decorate},
    {"clock.active", "The clocks that drive something.", {}, "[clock]", active},
    {"clock.assign_new", "Drive sources by a new clock.", {id_param, error_param, priority_param, sync_param, pos("['a.{clock : clock}]", "The sources.")}, "unit", assign_new},
    {"clock.create", "Make a clock.", {id_param, error_param, priority_param, sync_param}, "clock", create},
    {"clock.dump", "The clocks and their sources, as a text.", {}, "string", [](const BuiltinArgs&) { return text(dump_clocks()); }},
    {"clock.dump_all_sources", "The streams as trees of sources, clock by clock.", {}, "string", [](const BuiltinArgs&) { return text(dump_all_sources()); }},
    {"scheduler.stats", "What the workers and the clocks have done: how often they were late and by how much, what part of the time they took.", {}, stats_type, stats},
});

}  // namespace

}  // namespace castile::builtins
