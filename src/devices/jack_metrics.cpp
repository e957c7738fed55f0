// What JACK's clients tell Prometheus.

#include "devices/jack_keeper.h"
#include "net/metrics.h"

namespace castile::devices {

namespace {

const RegisterMetrics registration([](MetricsSink& to) {
    for (const auto& client : JackKeeper::get().clients()) {
        const bool capture = client->kind() == JackKind::capture, connected = client->connected();
        const MetricLabels labels{{"client", client->name()}, {"kind", capture ? "input.jack" : "output.jack"}, {"server", client->server().server_name()}};
        const JackCounters& counters = client->counters();
        to.gauge("castile_jack_connected", "1 while the JACK server is there.", connected, labels);
        to.counter("castile_jack_connections_total", "Times that it was connected.", static_cast<double>(counters.connections), labels);
        to.counter("castile_jack_xruns_total", "Late periods as the JACK server reports them: once for each client that was late.", static_cast<double>(counters.xruns), labels);
        to.counter("castile_jack_missing_samples_total", "Samples of silence in place of late ones.", static_cast<double>(counters.missing), labels);
        to.counter("castile_jack_dropped_samples_total", "Samples that nobody took in time.", static_cast<double>(counters.dropped), labels);
        if (!connected) continue;
        const JackSession::Shape shape = client->shape();
        to.gauge("castile_jack_sample_rate_hertz", "Samples a second of the JACK server.", shape.rate, labels);
        to.gauge("castile_jack_period_samples", "Samples of one of its periods.", shape.period, labels);
    }
});

}  // namespace

}  // namespace castile::devices
