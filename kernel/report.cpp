#include "report.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "settings.h"

namespace castile::iso {

namespace {

struct Metric {
    std::string_view name, type, help;
    double (*value)(const iso_cpu&);
};

constexpr std::array metrics{
    Metric{"castile_iso_share_ratio", "gauge", "Decaying average of the class's share of the CPU.",
           [](const iso_cpu& c) { return static_cast<double>(c.average.share) / static_cast<double>(ISO_ONE); }},
    Metric{"castile_iso_demoted", "gauge", "1 while isochronous tasks run as normal ones there.", [](const iso_cpu& c) { return static_cast<double>(c.demoted); }},
    Metric{"castile_iso_demotions_total", "counter", "How often the class went over the limit.", [](const iso_cpu& c) { return static_cast<double>(c.demotions); }},
    Metric{"castile_iso_promotions_total", "counter", "How often it came back.", [](const iso_cpu& c) { return static_cast<double>(c.promotions); }},
    Metric{"castile_iso_kicks_total", "counter", "Isochronous tasks that took the CPU at once.", [](const iso_cpu& c) { return static_cast<double>(c.preemptions); }},
    Metric{"castile_iso_normal_kicks_total", "counter", "Normal tasks that woke and preempted another.", [](const iso_cpu& c) { return static_cast<double>(c.normal_preemptions); }},
    Metric{"castile_iso_guards_total", "counter", "Slices that went to kernel threads or normal work although the class waited.", [](const iso_cpu& c) { return static_cast<double>(c.guards); }},
    Metric{"castile_iso_pulled_total", "counter", "Tasks taken from the queue of another CPU.", [](const iso_cpu& c) { return static_cast<double>(c.stolen); }},
    Metric{"castile_iso_class_seconds_total", "counter", "CPU time of isochronous tasks, demoted or not.", [](const iso_cpu& c) { return static_cast<double>(c.iso_time) / 1e9; }},
    Metric{"castile_iso_normal_seconds_total", "counter", "CPU time of normal tasks.", [](const iso_cpu& c) { return static_cast<double>(c.normal_time) / 1e9; }},
    Metric{"castile_iso_kthread_seconds_total", "counter", "CPU time of bound kernel threads.", [](const iso_cpu& c) { return static_cast<double>(c.kthread_time) / 1e9; }},
};

constexpr std::array kind_names{"idle", "real-time", "normal", "kernel", "isochronous"};

}  // namespace

std::string status_text(const iso_shared& shared, unsigned cpus, unsigned attached) {
    std::string text = fmt::format("{}\nattached {} time{}\n", tunables_text(shared.tunables), attached, attached == 1 ? "" : "s");
    text += fmt::format("{:>4} {:>8} {:>8} {:>10} {:>10} {:>10} {:>8} {:>8} {:>10} {:>10} {:>10}  {}\n", "CPU", "share %", "demoted", "demotions", "kicks", "n.kicks", "guards",
                        "pulled", "iso s", "normal s", "kernel s", "runs");
    for (unsigned i = 0; i < cpus; ++i) {
        const iso_cpu c = shared.cpus[i];
        if (c.average.at == 0) continue;
        const std::string runs = c.level > 0 ? fmt::format("level {}", c.level) : kind_names[c.kind % kind_names.size()];
        text += fmt::format("{:>4} {:>8.1f} {:>8} {:>10} {:>10} {:>10} {:>8} {:>8} {:>10.2f} {:>10.2f} {:>10.2f}  {}\n", i,
                            100. * static_cast<double>(c.average.share) / static_cast<double>(ISO_ONE), c.demoted ? "yes" : "no", c.demotions, c.preemptions, c.normal_preemptions,
                            c.guards, c.stolen, static_cast<double>(c.iso_time) / 1e9, static_cast<double>(c.normal_time) / 1e9, static_cast<double>(c.kthread_time) / 1e9, runs);
    }
    return text;
}

std::string metrics_text(const iso_shared& shared, unsigned cpus, unsigned attached) {
    const auto single = [](std::string_view name, std::string_view type, std::string_view help, double value) {
        return fmt::format("# HELP {} {}\n# TYPE {} {}\n{} {}\n", name, help, name, type, name, value);
    };
    std::string text = single("castile_iso_limit_ratio", "gauge", "The share of a CPU that the class may use (iso_cpu).", shared.tunables.cpu / 100.);
    text += single("castile_iso_period_seconds", "gauge", "The time constant of the average (iso_period).", static_cast<double>(shared.tunables.period) / 1e9);
    text += single("castile_iso_attached_total", "counter", "How often the scheduler was attached.", attached);
    for (const Metric& metric : metrics) {
        text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", metric.name, metric.help, metric.name, metric.type);
        for (unsigned i = 0; i < cpus; ++i)
            if (shared.cpus[i].average.at != 0) text += fmt::format("{}{{cpu=\"{}\"}} {}\n", metric.name, i, metric.value(shared.cpus[i]));
    }
    return text;
}

}  // namespace castile::iso
