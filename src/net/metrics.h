#pragma once
// Prometheus metrics: what the engine's parts tell when asked, what a script registers, and the page that shows both.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "net/transport.h"

namespace castile {

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

/// Takes the figures of the engine at one moment. A value that is not a number is left out: unknown is not shown as NaN.
class MetricsSink {
public:
    virtual ~MetricsSink() = default;
    virtual void gauge(const char* name, const char* help, double value, MetricLabels labels = {}) = 0;
    /// `name` ends in _total.
    virtual void counter(const char* name, const char* help, double value, MetricLabels labels = {}) = 0;
    /// `counts[i]`: how many were at most `bounds[i]` and more than the bound before; the last counts the rest.
    virtual void histogram(const char* name, const char* help, std::span<const double> bounds, std::span<const std::uint64_t> counts, double sum,
                           MetricLabels labels = {}) = 0;
};

/// A part of the engine that has figures: a static object beside it. `collect` runs on the blocking pool, for each page.
class RegisterMetrics {
public:
    explicit RegisterMetrics(void (*collect)(MetricsSink&));
};

// --- Metrics of the script. Any thread. ------------------------------------------------------------------------------

enum class MetricKind { counter, gauge, summary };
using MetricSetter = std::function<void(double)>;   ///< adds, sets or observes
/// One family. Throws Error: a name or label that Prometheus does not take, or that another kind of metric has already.
/// Given the values of its labels (as many as there are: Error) it makes the one metric of these; the same each time.
std::function<MetricSetter(const std::vector<std::string>& values)> script_metric(MetricKind kind, const std::string& name, const std::string& help,
                                                                                  const std::vector<std::string>& labels);

// --- The page. -------------------------------------------------------------------------------------------------------

/// Prometheus' text format 0.0.4, or OpenMetrics 1.0.
std::string metrics_text(bool open_metrics = false);
/// Serves /metrics on a port, where nobody else does.
[[nodiscard]] std::shared_ptr<void> serve_metrics(unsigned short port, const TransportPtr& transport);
/// The server of settings.prometheus.server, when it is wanted. Throws Error (the port is in use).
void start_metrics_server();

}  // namespace castile
