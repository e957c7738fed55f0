// prometheus.*: metrics that a script keeps, and the latencies of a source.

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "builtins/define.h"
#include "clock/clock.h"
#include "net/metrics.h"
#include "sched/scheduler.h"
#include "script/values.h"
#include "source/source.h"

namespace castile::builtins {

namespace {

std::vector<std::string> texts(const Value& list) {
    std::vector<std::string> all;
    for (const Value& v : list.elements()) all.push_back(v.as_string());
    return all;
}

/// What the script's argument of that label is; null when it was not given.
const Value* given(std::span<const CallArgument> arguments, const char* label) {
    const Name name(label);
    const auto found = std::ranges::find_if(arguments, [&](const CallArgument& a) { return a.label == name; });
    return found == arguments.end() ? nullptr : &found->value;
}

template <MetricKind Kind> Value metric(const BuiltinArgs& a) {
    std::string name;
    for (const std::string& part : {a[1].as_string(), a[2].as_string(), a[4].as_string()})
        if (!part.empty()) name += (name.empty() ? "" : "_") + part;
    try {
        auto family = script_metric(Kind, name, a[0].as_string(), texts(a[3]));
        return native([family = std::move(family)](std::span<const CallArgument> arguments) {
            try {
                const Value* values = given(arguments, "label_values");
                MetricSetter set = family(values ? texts(*values) : std::vector<std::string>{});
                return native([set = std::move(set)](std::span<const CallArgument> value) {
                    set(value[0].value.as_float());
                    return Value::unit();
                });
            } catch (const Error& error) {
                raise("invalid", fmt::format("prometheus: {}.", error.what()));
            }
        });
    } catch (const Error& error) {
        raise("invalid", fmt::format("prometheus: {}.", error.what()));
    }
}

// --- prometheus.latency ----------------------------------------------------------------------------------------------

/// Mean and greatest value of the last seconds, and the greatest of all. The clock's worker only.
class Window {
public:
    Window(double seconds, MetricSetter mean, MetricSetter peak, MetricSetter most)
        : length_(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::clamp(seconds, 0.0, 86400.0)))),
          mean_(std::move(mean)), peak_(std::move(peak)), most_(std::move(most)) {}

    void add(double value, Instant now) {
        values_.push_back({now, value});
        sum_ += value;
        while (values_.front().when < now - length_) {
            sum_ -= values_.front().value;
            values_.pop_front();
        }
        greatest_ = std::max(greatest_, value);
        mean_(std::max(0.0, sum_ / static_cast<double>(values_.size())));
        peak_(std::ranges::max_element(values_, {}, &Entry::value)->value);
        most_(greatest_);
    }

private:
    struct Entry { Instant when; double value; };
    const Duration length_;
    const MetricSetter mean_, peak_, most_;
    std::deque<Entry> values_;
    double sum_ = 0, greatest_ = 0;
};

/// Watches one source: how long it takes to make a frame (input), then until the tick is over (output), and both.
class LatencyWatch final : public Active {
public:
    LatencyWatch(Window input, Window output, Window overall, MetricSetter last_data, std::string name)
        : input_(std::move(input)), output_(std::move(output)), overall_(std::move(overall)), last_data_(std::move(last_data)), name_(std::move(name)) {}

    void made(Instant begun, Instant ended, Ticks length) {
        begun_ = begun;
        ended_ = ended;
        fresh_ = true;
        last_data_(scheduler().time().wall());
        if (length.count > 0) input_.add(seconds(ended - begun) / to_seconds(length), ended);
    }
    void tick() noexcept override {}
    void after_tick() noexcept override {
        if (!std::exchange(fresh_, false)) return;
        const Instant now = scheduler().time().now();
        const double frame = to_seconds(stream_parameters().frame_size);
        try {
            output_.add(seconds(now - ended_) / frame, now);
            overall_.add(seconds(now - begun_) / frame, now);
        } catch (const std::bad_alloc&) {
        }
    }
    const std::string& active_name() const noexcept override { return name_; }

private:
    static double seconds(Duration d) { return std::chrono::duration<double>(d).count(); }
    Window input_, output_, overall_;
    const MetricSetter last_data_;
    const std::string name_;
    Instant begun_{}, ended_{};
    bool fresh_ = false;
};

/// The three gauges of one kind of latency. Older dashboards know the names without the unit: both are set.
Window window(const std::string& prefix, const std::string& kind, double seconds, const std::vector<std::string>& labels, const std::vector<std::string>& values) {
    const auto gauge = [&](const std::string& what, const std::string& help) -> MetricSetter {
        auto with_unit = script_metric(MetricKind::gauge, fmt::format("{}{}_{}_seconds", prefix, kind, what), help, labels)(values);
        auto without = script_metric(MetricKind::gauge, fmt::format("{}{}_{}", prefix, kind, what), help, labels)(values);
        return [with_unit, without](double value) {
            with_unit(value);
            without(value);
        };
    };
    const std::string unit = "as a share of the frame's duration";
    return Window(seconds, gauge("latency", fmt::format("Mean {} latency of the last moments, {}.", kind, unit)),
                  gauge("peak_latency", fmt::format("Greatest {} latency of the last moments, {}.", kind, unit)),
                  gauge("max_latency", fmt::format("Greatest {} latency since the start, {}.", kind, unit)));
}

void watch(const SourcePtr& source, double seconds, const std::string& prefix, const std::vector<std::string>& labels, const std::vector<std::string>& values) {
    auto watcher = std::make_shared<LatencyWatch>(
        window(prefix, "input", seconds, labels, values), window(prefix, "output", seconds, labels, values), window(prefix, "overall", seconds, labels, values),
        script_metric(MetricKind::gauge, "liquidsoap_time_of_last_data_timestamp", "When the source last made something, in seconds since 1970.", labels)(values),
        source->id() + ".latency");
    Source* raw = source.get();  // its watchers live as long as it does
    raw->on_timing([watcher](Instant begun, Instant ended, Ticks length) { watcher->made(begun, ended, length); });
    raw->on_wake_up_do([raw, watcher] { raw->clock()->attach(watcher); });
    raw->on_sleep_do([raw, watcher] { raw->clock()->detach(*watcher); });
}

Value latency(const BuiltinArgs& a) {
    const double seconds = a[0].as_float();
    const std::string prefix = a[1].as_string();
    const std::vector<std::string> labels = texts(a[2]);
    return native([=](std::span<const CallArgument> arguments) {
        const Value* values = given(arguments, "label_values");
        const auto source = std::ranges::find_if(arguments, [](const CallArgument& one) { return one.label.empty(); });
        try {
            watch(script::source_from_value(source->value), seconds, prefix, labels, values ? texts(*values) : std::vector<std::string>{});
        } catch (const Error& error) {
            raise("invalid", fmt::format("prometheus.latency: {}.", error.what()));
        }
        return Value::unit();
    });
}

std::vector<BuiltinParam> metric_params() {
    return {arg("help", "string", "What the metric means."), opt("namespace", "string", "\"\"", "Put before the name."),
            opt("subsystem", "string", "\"\"", "Put between the two."), arg("labels", "[string]", "Labels of the metric."), pos("string", "Name of the metric.")};
}

constexpr const char* setter = "(label_values : [string]) -> ((float) -> unit)";

const Definitions definitions("Interaction", {
    {"prometheus.counter", "A counter for Prometheus: with the values of its labels it gives a function that adds to it.", metric_params(), setter, metric<MetricKind::counter>},
    {"prometheus.gauge", "A gauge for Prometheus: with the values of its labels it gives a function that sets it. What is not a number is not shown.", metric_params(), setter,
     metric<MetricKind::gauge>},
    {"prometheus.summary", "A summary for Prometheus: with the values of its labels it gives a function that takes an observation.", metric_params(), setter,
     metric<MetricKind::summary>},
});

const Definitions latency_definitions("Liquidsoap", {
    {"prometheus.latency", "Tell Prometheus how long a source takes to make a frame (input), how long what follows takes (output), and both (overall).",
     {opt("window", "float", "5.", "Seconds that the mean and the peak are of."), opt("prefix", "string", "\"liquidsoap_\"", "Put before the names."),
      arg("labels", "[string]", "Labels of the metrics.")},
     "(label_values : [string], source('a)) -> unit", latency},
});

}  // namespace

}  // namespace castile::builtins
