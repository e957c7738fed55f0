// What the engine tells Prometheus of itself: process, clocks, sources, outputs, mounts.

#include <dirent.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "base/memory.h"
#include "builtins/define.h"
#include "clock/clock.h"
#include "net/metrics.h"
#include "net/mount.h"
#include "request/request.h"
#include "sched/scheduler.h"
#include "source/output.h"

namespace castile::builtins {

namespace {

double seconds(const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); }

int entries(const char* folder) {
    DIR* dir = opendir(folder);
    if (!dir) return 0;
    int count = 0;
    while (const dirent* entry = readdir(dir)) count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

const double start_time = static_cast<double>(std::time(nullptr));

// The names are those that every Prometheus client uses.
void process_metrics(MetricsSink& to) {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    const ProcessMemory memory = process_memory();
    const AllocatorMemory allocator = allocator_memory();
    to.counter("process_cpu_seconds_total", "CPU time used, user and system.", seconds(usage.ru_utime) + seconds(usage.ru_stime));
    to.gauge("process_resident_memory_bytes", "Memory in use (RSS), shared libraries included.", static_cast<double>(memory.resident));
    to.gauge("process_virtual_memory_bytes", "Size of the address space.", static_cast<double>(memory.virtual_size));
    to.gauge("process_open_fds", "Open file descriptors.", entries("/proc/self/fd") - 1);  // not the one that counts
    to.gauge("process_max_fds", "How many there may be.", static_cast<double>(files.rlim_cur));
    to.gauge("process_threads", "Threads.", entries("/proc/self/task"));
    to.gauge("process_start_time_seconds", "When the process began, in seconds since 1970.", start_time);
    to.gauge("castile_memory_anonymous_bytes", "Part of the memory in use that is the process's own.", static_cast<double>(memory.anonymous));
    if (allocator.allocated) to.gauge("castile_memory_allocated_bytes", "Memory that the allocator handed out.", static_cast<double>(*allocator.allocated));
    if (allocator.retained) to.gauge("castile_memory_retained_bytes", "Free memory that the allocator holds.", static_cast<double>(*allocator.retained));
    to.counter("castile_context_switches_total", "Context switches.", static_cast<double>(usage.ru_nvcsw), {{"kind", "voluntary"}});
    to.counter("castile_context_switches_total", "Context switches.", static_cast<double>(usage.ru_nivcsw), {{"kind", "involuntary"}});
    to.gauge("castile_build_info", "Always 1.", 1, {{"version", CASTILE_VERSION}, {"allocator", allocator_name()}});
}

void lateness(MetricsSink& to, const char* name, const char* help, const Lateness& read, const MetricLabels& labels) {
    std::array<std::uint64_t, Lateness::bounds.size() + 1> counts{};
    std::ranges::copy(read.counts, counts.begin());
    to.histogram(name, help, Lateness::bounds, counts, read.sum, labels);
}

void clock_metrics(MetricsSink& to) {
    const std::vector<ClockStatistics> clocks = all_clock_statistics();
    const std::string workers = scheduler().statistics().kernel;
    to.gauge("castile_clocks", "Clocks that run.", static_cast<double>(clocks.size()));
    for (const ClockStatistics& clock : clocks) {
        const MetricLabels labels{{"clock", clock.id}};
        to.gauge("castile_clock_info", "Always 1; how the clock keeps time, and what the kernel gives the threads that run it.", 1, {{"clock", clock.id}, {"sync", clock.sync}, {"kernel", clock.kernel.empty() ? workers : clock.kernel}});
        to.gauge("castile_clock_self_sync", "1 while it is paced by a device rather than the computer's clock.", clock.self_sync, labels);
        to.counter("castile_clock_ticks_total", "Frames made.", static_cast<double>(clock.ticks), labels);
        to.counter("castile_clock_late_ticks_total", "Frames made after their time had come.", static_cast<double>(clock.late_ticks), labels);
        lateness(to, "castile_clock_lateness_seconds", "How long after their time ticks began; 0: within the lead.", clock.lateness, labels);
        to.gauge("castile_clock_budget_share", "Share of one worker that it uses, a decaying average.", clock.share, labels);
        to.gauge("castile_clock_priority", "Its priority: the lowest suffers first.", clock.priority, labels);
        to.gauge("castile_clock_demoted", "1 while it queues as normal work.", clock.demoted, labels);
        to.counter("castile_clock_demotions_total", "How often that began.", static_cast<double>(clock.demotions), labels);
        to.counter("castile_clock_catchups_total", "Times that it was reported late.", static_cast<double>(clock.catchups), labels);
        to.counter("castile_clock_catchup_seconds_total", "Stream time made late.", clock.catchup_seconds, labels);
        to.counter("castile_clock_resets_total", "Times that it gave up catching up.", static_cast<double>(clock.resets), labels);
        to.counter("castile_clock_busy_seconds_total", "Time spent making frames.", clock.busy, labels);
        to.gauge("castile_clock_late_seconds", "How far it is behind; 0 when on time.", clock.late, labels);
        to.gauge("castile_clock_worst_lateness_seconds", "The latest it was since the start.", clock.worst_lateness, labels);
        to.gauge("castile_clock_lead_seconds", "How far ahead of real time it runs.", clock.lead, labels);
    }
}

void scheduler_metrics(MetricsSink& to) {
    const SchedulerStatistics statistics = scheduler().statistics();
    to.gauge("castile_scheduler_limit", "Share of a worker that isochronous work may have (settings.scheduler.iso_cpu).", statistics.iso_cpu);
    to.gauge("castile_scheduler_info", "Always 1; what the workers get from the kernel.", 1, {{"kernel", statistics.kernel}});
    to.counter("castile_scheduler_pauses_total", "Times that the whole process did not run for a second or more.", static_cast<double>(statistics.pauses));
    to.counter("castile_scheduler_paused_seconds_total", "How long that was.", statistics.paused_seconds);
    for (const WorkerStatistics& worker : statistics.workers) {
        const MetricLabels labels{{"worker", std::to_string(worker.index)}};
        to.counter("castile_worker_runs_total", "Runs of clocks.", static_cast<double>(worker.runs), labels);
        to.counter("castile_worker_late_runs_total", "Runs that began a millisecond or more after their deadline.", static_cast<double>(worker.late_runs), labels);
        lateness(to, "castile_worker_lateness_seconds", "From the deadline to the begin of a run.", worker.lateness, labels);
        to.gauge("castile_worker_budget_share", "Share of its time that isochronous runs have, a decaying average.", worker.share, labels);
        to.gauge("castile_worker_over_limit", "1 while its isochronous work queues as normal work.", worker.over_limit, labels);
        to.counter("castile_worker_demotions_total", "How often that began.", static_cast<double>(worker.demotions), labels);
        to.counter("castile_worker_clock_seconds_total", "Time spent in clocks.", worker.clock_seconds, labels);
        to.counter("castile_worker_handler_seconds_total", "Time spent in normal work.", worker.handler_seconds, labels);
    }
}

void graph_metrics(MetricsSink& to) {
    const std::vector<SourcePtr> sources = all_sources();
    to.gauge("castile_sources", "Sources, operators and outputs that exist.", static_cast<double>(sources.size()));
    to.gauge("castile_requests", "Requests that exist.", static_cast<double>(all_requests().size()));
    for (const SourcePtr& source : sources) {
        const auto* output = dynamic_cast<const Output*>(source.get());
        if (!output) continue;
        const MetricLabels labels{{"output", output->id()}, {"kind", output->operator_name()}};
        const OutputStatistics statistics = output->statistics();
        to.gauge("castile_output_started", "1 when the output runs.", output->started(), labels);
        if (statistics.connected) to.gauge("castile_output_connected", "1 when it is connected to its server.", *statistics.connected, labels);
        if (statistics.bytes) to.counter("castile_output_bytes_total", "Bytes sent or written.", static_cast<double>(*statistics.bytes), labels);
        if (statistics.dropped) to.counter("castile_output_dropped_bytes_total", "Bytes lost: the peer or the disk was too slow.", static_cast<double>(*statistics.dropped), labels);
        if (statistics.listeners) to.gauge("castile_output_listeners", "Listeners connected.", *statistics.listeners, labels);
    }
    for (const auto& mount : open_mounts()) {
        const MountStatus status = mount->status();
        const MetricLabels labels{{"mount", status.path}, {"port", std::to_string(status.port)}};
        to.gauge("castile_mount_on_air", "1 when there is something to hear.", status.on_air, labels);
        to.gauge("castile_mount_listeners", "Listeners connected.", status.listeners, labels);
        to.gauge("castile_mount_listeners_peak", "Most listeners at once.", status.peak_listeners, labels);
        to.counter("castile_mount_connections_total", "Listeners that came.", static_cast<double>(status.connections), labels);
        to.counter("castile_mount_dropped_listeners_total", "Listeners dropped because they were too slow.", static_cast<double>(status.dropped_listeners), labels);
        to.counter("castile_mount_bytes_sent_total", "Bytes sent to listeners.", static_cast<double>(status.bytes_sent), labels);
    }
}

const RegisterMetrics process_registration(process_metrics), clock_registration(clock_metrics), scheduler_registration(scheduler_metrics), graph_registration(graph_metrics);

const Definitions definitions("Liquidsoap", {
    {"castile.metrics", "The text of the metrics page (/metrics), for Prometheus.", {opt("openmetrics", "bool", "false", "In the OpenMetrics format.")}, "string",
     [](const BuiltinArgs& a) { return text(metrics_text(a[0].as_bool())); }},
});

}  // namespace

}  // namespace castile::builtins
