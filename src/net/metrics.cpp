// The families of the script live in prometheus-cpp's registry; those of the engine are asked for when somebody looks.

#include "net/metrics.h"

#include <fmt/format.h>
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/summary.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/log.h"
#include "base/settings.h"
#include "net/http_server.h"
#include "sched/scheduler.h"

namespace castile {

namespace {

Setting<bool> server_wanted{"prometheus.server", false, "Serve metrics for Prometheus (/metrics) on a port of their own."};
Setting<int> server_port{"prometheus.server.port", 9599, "Port of that server."};

const Logger logger("prometheus");

using Families = std::map<std::string, prometheus::MetricFamily>;
using Type = prometheus::MetricType;

std::vector<void (*)(MetricsSink&)>& collectors() {
    static auto* all = new std::vector<void (*)(MetricsSink&)>;
    return *all;
}

class Sink final : public MetricsSink {
public:
    void gauge(const char* name, const char* help, double value, MetricLabels labels) override {
        if (!std::isnan(value)) add(name, help, Type::Gauge, std::move(labels)).gauge.value = value;
    }
    void counter(const char* name, const char* help, double value, MetricLabels labels) override {
        if (!std::isnan(value)) add(name, help, Type::Counter, std::move(labels)).counter.value = value;
    }
    void histogram(const char* name, const char* help, std::span<const double> bounds, std::span<const std::uint64_t> counts, double sum,
                   MetricLabels labels) override {
        auto& histogram = add(name, help, Type::Histogram, std::move(labels)).histogram;
        std::uint64_t total = 0;
        for (std::size_t i = 0; i < counts.size(); ++i) {
            total += counts[i];
            const double bound = i < bounds.size() ? bounds[i] : std::numeric_limits<double>::infinity();
            histogram.bucket.push_back({total, bound});
        }
        histogram.sample_count = total;
        histogram.sample_sum = sum;
    }
    Families families;

private:
    prometheus::ClientMetric& add(const char* name, const char* help, Type type, MetricLabels labels) {
        auto [found, fresh] = families.try_emplace(name);
        if (fresh) {
            found->second.name = name;
            found->second.help = help;
            found->second.type = type;
        }
        auto& metric = found->second.metric.emplace_back();
        for (auto& [label, value] : labels) metric.label.push_back({std::move(label), std::move(value)});
        return metric;
    }
};

// --- The script's ----------------------------------------------------------------------------------------------------

bool good_name(std::string_view name, bool label) {
    const auto letter = [label](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c == ':' && !label); };
    if (name.empty() || !letter(name[0]) || (label && name.starts_with("__"))) return false;
    return std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

struct ScriptMetrics {
    prometheus::Registry registry;
    std::mutex kinds_mutex;
    std::map<std::string, std::pair<MetricKind, std::vector<std::string>>> kinds;
};

ScriptMetrics& script_metrics() {
    static auto* all = new ScriptMetrics;
    return *all;
}

prometheus::Labels labels_of(const std::vector<std::string>& names, const std::vector<std::string>& values) {
    if (names.size() != values.size()) throw Error(fmt::format("{} label values are given for {} labels", values.size(), names.size()));
    prometheus::Labels labels;
    for (std::size_t i = 0; i < names.size(); ++i) labels[names[i]] = values[i];
    return labels;
}

// What is no number changes nothing, except a gauge: that is unknown from then on, and not shown.
template <class Metric> void take(Metric& metric, double value) {
    if constexpr (std::is_same_v<Metric, prometheus::Gauge>) metric.Set(value);
    else if (std::isnan(value)) return;
    else if constexpr (std::is_same_v<Metric, prometheus::Counter>) metric.Increment(value);
    else metric.Observe(value);
}

template <class Metric, class... Extra> auto maker(prometheus::Family<Metric>& family, std::vector<std::string> names, Extra... extra) {
    return [&family, names = std::move(names), extra...](const std::vector<std::string>& values) -> MetricSetter {
        Metric& metric = family.Add(labels_of(names, values), extra...);
        return [&metric](double value) { take(metric, value); };
    };
}

// --- The page --------------------------------------------------------------------------------------------------------

Families collect() {
    Sink sink;
    for (const auto collect : collectors()) collect(sink);
    // A script's own metric takes the place of the engine's of that name.
    for (auto& family : script_metrics().registry.Collect()) {
        if (family.type == Type::Gauge) std::erase_if(family.metric, [](const auto& metric) { return std::isnan(metric.gauge.value); });
        std::string name = family.name;
        if (!family.metric.empty()) sink.families[std::move(name)] = std::move(family);
    }
    return std::move(sink.families);
}

// OpenMetrics names a counter's family without _total, and knows no counter that does not end so.
std::string as_open_metrics(const std::string& text) {
    std::istringstream in(text);
    std::string out, line;
    while (std::getline(in, line)) {
        if (line.starts_with("# HELP ") || line.starts_with("# TYPE ")) {
            const auto end = std::min(line.find(' ', 7), line.size());
            std::string name = line.substr(7, end - 7), rest = line.substr(end);
            const bool type = line[2] == 'T';
            if (name.ends_with("_total")) name.resize(name.size() - 6);
            else if (type && rest == " counter") rest = " unknown";
            if (!type)
                for (std::size_t at = 0; (at = rest.find('"', at)) != rest.npos; at += 2) rest.insert(at, "\\");
            line = line.substr(0, 7) + name + rest;
        }
        out += line + '\n';
    }
    return out + "# EOF\n";
}

void answer(const HttpExchangePtr& exchange) {
    const std::string* accept = exchange->request().header("accept");
    const bool open = accept && accept->find("application/openmetrics-text") != accept->npos;
    scheduler().blocking([exchange, open] {
        try {
            exchange->reply({200, open ? "application/openmetrics-text; version=1.0.0; charset=utf-8" : "text/plain; version=0.0.4; charset=utf-8",
                             metrics_text(open), {{"Cache-Control", "no-store"}}, ""});
        } catch (const std::exception& error) {
            logger.severe("No metrics: {}", error.what());
            exchange->reply({500, "text/plain; charset=utf-8", "Internal Server Error\n", {}, ""});
        }
    });
}

}  // namespace

RegisterMetrics::RegisterMetrics(void (*collect)(MetricsSink&)) { collectors().push_back(collect); }

std::function<MetricSetter(const std::vector<std::string>&)> script_metric(MetricKind kind, const std::string& name, const std::string& help,
                                                                            const std::vector<std::string>& labels) {
    if (!good_name(name, false)) throw Error(fmt::format("\"{}\" is no name of a metric: it is made of letters, digits, _ and :", name));
    for (const std::string& label : labels)
        if (!good_name(label, true)) throw Error(fmt::format("\"{}\" is no name of a label: it is made of letters, digits and _", label));
    if (std::set<std::string>(labels.begin(), labels.end()).size() != labels.size()) throw Error("a label is named twice");
    if (kind == MetricKind::summary && std::ranges::find(labels, "quantile") != labels.end()) throw Error("a summary has no label named quantile");
    ScriptMetrics& all = script_metrics();
    std::lock_guard lock(all.kinds_mutex);
    const auto [known, fresh] = all.kinds.try_emplace(name, kind, labels);
    if (!fresh && known->second != std::pair(kind, labels)) throw Error(fmt::format("there is a metric {} already, of another kind or with other labels", name));
    switch (kind) {
    case MetricKind::counter: return maker(prometheus::BuildCounter().Name(name).Help(help).Register(all.registry), labels);
    case MetricKind::gauge: return maker(prometheus::BuildGauge().Name(name).Help(help).Register(all.registry), labels);
    case MetricKind::summary:
        return maker(prometheus::BuildSummary().Name(name).Help(help).Register(all.registry), labels, prometheus::Summary::Quantiles{});
    }
    return nullptr;
}

std::string metrics_text(bool open_metrics) {
    std::vector<prometheus::MetricFamily> families;
    for (auto& [name, family] : collect()) families.push_back(std::move(family));
    const std::string text = prometheus::TextSerializer().Serialize(families);
    return open_metrics ? as_open_metrics(text) : text;
}

std::shared_ptr<void> serve_metrics(unsigned short port, const TransportPtr& transport) {
    HttpRoute route;
    route.path = "/metrics";
    route.fallback = true;
    return register_http(port, transport, std::move(route), answer);
}

void start_metrics_server() {
    if (!server_wanted.get()) return;
    const int number = server_port.get();
    if (number < 1 || number > 65535) throw Error(fmt::format("settings.prometheus.server.port: {} is not a port.", number));
    const auto port = static_cast<unsigned short>(number);
    static auto* tokens = new std::vector<std::shared_ptr<void>>;  // as long as the process
    tokens->push_back(serve_metrics(port, nullptr));
    HttpRoute route;
    route.path = "/";
    route.fallback = true;
    tokens->push_back(register_http(port, nullptr, std::move(route), [](const HttpExchangePtr& exchange) {
        exchange->reply({200, "text/html; charset=utf-8", "<!doctype html><title>Metrics</title><a href=\"/metrics\">Metrics</a>\n", {}, ""});
    }));
    logger.important("Starting prometheus server on port {}", number);
}

}  // namespace castile
