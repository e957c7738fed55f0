// The clients of bench/jack_test3.
//   jack_test3 client SERVER NAME PORTS CLASS     mixes its inputs to each of its outputs until its standard input ends
//   jack_test3 meter SERVER CLASS SECONDS         measures the cycles of the server; prints one line of JSON
//   jack_test3 wait SERVER                        until the server answers, ten seconds at most
//   jack_test3 set THREAD CLASS                   puts a thread of another process into a class
#include <jack/jack.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "classes.h"

namespace {

jack_client_t* open_client(const char* server, const char* name) {
    jack_status_t status{};
    jack_client_t* client = jack_client_open(name, static_cast<jack_options_t>(JackNoStartServer | JackServerName), &status, server);
    if (!client) {
        std::fprintf(stderr, "jack_test3: no JACK server \"%s\"\n", server);
        std::exit(1);
    }
    return client;
}

std::string wanted_class, refused;

// In JACK's thread of the client: only that one is in the class, not the whole program.
void enter_class(void*) { refused = bench::set_class(0, wanted_class); }

int wait_for_server(const char* server) {
    for (int i = 0; i < 100; ++i) {
        jack_status_t status{};
        if (jack_client_t* client = jack_client_open("wait", static_cast<jack_options_t>(JackNoStartServer | JackServerName), &status, server)) {
            jack_client_close(client);
            return 0;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return 1;
}

// --- A client ----------------------------------------------------------------------------------------------------------

struct Mixer {
    std::vector<jack_port_t*> inputs, outputs;
    std::vector<float> sum = std::vector<float>(8192);
};

int mix(jack_nframes_t samples, void* arg) {
    auto& m = *static_cast<Mixer*>(arg);
    const std::size_t count = std::min<std::size_t>(samples, m.sum.size());
    std::fill_n(m.sum.begin(), count, 0.f);
    for (jack_port_t* port : m.inputs) {
        const auto* in = static_cast<const float*>(jack_port_get_buffer(port, samples));
        for (std::size_t i = 0; i < count; ++i) m.sum[i] += in[i];
    }
    for (jack_port_t* port : m.outputs) std::copy_n(m.sum.begin(), count, static_cast<float*>(jack_port_get_buffer(port, samples)));
    return 0;
}

int run_client(const char* server, const char* name, int ports) {
    jack_client_t* client = open_client(server, name);
    Mixer mixer;
    for (int i = 0; i < ports; ++i) {
        mixer.inputs.push_back(jack_port_register(client, ("in_" + std::to_string(i)).c_str(), JACK_DEFAULT_AUDIO_TYPE, JackPortIsInput, 0));
        mixer.outputs.push_back(jack_port_register(client, ("out_" + std::to_string(i)).c_str(), JACK_DEFAULT_AUDIO_TYPE, JackPortIsOutput, 0));
        if (!mixer.inputs.back() || !mixer.outputs.back()) return 1;
    }
    jack_set_thread_init_callback(client, enter_class, nullptr);
    jack_set_process_callback(client, mix, &mixer);
    if (jack_activate(client) != 0) return 1;
    std::printf("%s\n", refused.empty() ? "ready" : refused.c_str());
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
    jack_client_close(client);
    return 0;
}

// --- The meter: one client that runs first in each cycle, one that runs last ---------------------------------------------

struct Meter {
    double period = 0;                         // microseconds
    std::atomic<jack_time_t> begun = 0;        // this cycle's first client
    std::atomic<double> last_cycle = 0, cycle_max = 0;
    std::atomic<long> cycles = 0, xruns = 0, last_xrun = -1, over_spare = 0, over_1000 = 0;
    std::atomic<bool> measuring = false;
    // of the first client's thread
    double due = 0;                            // when the cycle should begin
    std::atomic<double> delay_max = 0;
};

int at_begin(jack_nframes_t, void* arg) {
    auto& m = *static_cast<Meter*>(arg);
    const jack_time_t now = jack_get_time();
    m.begun = now;
    const auto t = static_cast<double>(now);
    m.due += m.period;
    // The least late of all cycles is on time; a server that is late by a period begins to count anew.
    const double delay = t - m.due;
    if (delay < 0 || delay > m.period || m.due == m.period) m.due = t;
    if (!m.measuring) return 0;
    ++m.cycles;
    if (delay <= 0) return 0;
    if (delay > m.period - m.last_cycle) ++m.over_spare;
    if (delay > 1000) ++m.over_1000;
    if (delay > m.delay_max) m.delay_max = delay;
    return 0;
}

int at_end(jack_nframes_t, void* arg) {
    auto& m = *static_cast<Meter*>(arg);
    const auto took = static_cast<double>(jack_get_time() - m.begun);
    m.last_cycle = took;
    if (m.measuring && took > m.cycle_max) m.cycle_max = took;
    return 0;
}

int at_xrun(void* arg) {
    // The server tells it for each client that was late: a cycle counts once.
    auto& m = *static_cast<Meter*>(arg);
    const long cycle = m.cycles;
    if (m.measuring && m.last_xrun.exchange(cycle) != cycle) ++m.xruns;
    return 0;
}

int run_meter(const char* server, double seconds) {
    using namespace std::chrono_literals;
    static Meter meter;
    jack_client_t *first = open_client(server, "meter_first"), *last = open_client(server, "meter_last");
    meter.period = 1e6 * jack_get_buffer_size(first) / jack_get_sample_rate(first);
    jack_port_t* end = jack_port_register(last, "end", JACK_DEFAULT_AUDIO_TYPE, JackPortIsInput, 0);
    for (jack_client_t* client : {first, last}) jack_set_thread_init_callback(client, enter_class, nullptr);
    jack_set_process_callback(first, at_begin, &meter);
    jack_set_process_callback(last, at_end, &meter);
    jack_set_xrun_callback(first, at_xrun, &meter);
    if (!end || jack_activate(first) != 0 || jack_activate(last) != 0) return 1;
    const char** outputs = jack_get_ports(last, "^client_.*:out_0$", nullptr, JackPortIsOutput);
    for (const char** name = outputs; name && *name; ++name) jack_connect(last, *name, jack_port_name(end));
    jack_free(outputs);
    std::this_thread::sleep_for(1s);
    std::printf("%s\n", refused.empty() ? "ready" : refused.c_str());
    std::fflush(stdout);
    meter.measuring = true;
    double load = 0;
    long looks = 0;
    for (const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds); std::chrono::steady_clock::now() < until; ++looks) {
        std::this_thread::sleep_for(100ms);
        load += static_cast<double>(jack_cpu_load(first));
    }
    meter.measuring = false;
    std::printf("{\"cycles\": %ld, \"xruns\": %ld, \"over_spare\": %ld, \"over_1000\": %ld, \"delay_max_us\": %.0f, \"cycle_max_us\": %.0f, \"dsp_load\": %.1f}\n",
                meter.cycles.load(), meter.xruns.load(), meter.over_spare.load(), meter.over_1000.load(), meter.delay_max.load(), meter.cycle_max.load(),
                load / static_cast<double>(std::max(1L, looks)));
    std::fflush(stdout);
    jack_client_close(last);
    jack_client_close(first);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "client" && argc == 6) {
        wanted_class = argv[5];
        return run_client(argv[2], argv[3], std::clamp(std::atoi(argv[4]), 1, 64));
    }
    if (what == "meter" && argc == 5) {
        wanted_class = argv[3];
        return run_meter(argv[2], std::clamp(std::atof(argv[4]), 0.1, 1e6));
    }
    if (what == "wait" && argc == 3) return wait_for_server(argv[2]);
    if (what == "set" && argc == 4) {
        const std::string why = bench::set_class(std::atoi(argv[2]), argv[3]);
        if (!why.empty()) std::printf("%s\n", why.c_str());
        return why.empty() ? 0 : 3;
    }
    std::fprintf(stderr, "usage: jack_test3 client SERVER NAME PORTS CLASS | meter SERVER CLASS SECONDS | wait SERVER | set THREAD CLASS\n");
    return 2;
}
