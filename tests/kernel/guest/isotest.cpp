// What the test machine runs: wakers, hogs and trouble makers in any class, as one static program.
//
//   isotest [-u UID] [-c CLASS] COMMAND [OPTIONS]     CLASS: normal, iso[:NICE], fifo:PRIO, rr:PRIO, nice:N, slice:US
//   wake -n PERIODS -b BURST_US [-p PERIOD_NS]        wakes periodically, works, says how late it was
//   hog -s SECONDS [-y]                               uses the CPU, or yields it in a loop; says what it had
//   bomb -n COUNT, crowd -n COUNT -s SECONDS          COUNT children one after another, or at once
//   flip -s SECONDS                                   changes policies, nice values and CPUs of four hogs in a loop
//   kill -n COUNT -s SECONDS                          kills children while they are queued
//   ask -s SECONDS                                    a sound server's threads: real-time requests by every way
//   drain -n COUNT                                    waits for the CPU's kernel threads that often, says how long at most
//   Common: -C CPU pins, -t TAG names the line of the result, -d SECONDS waits first (in its class), so that all can be started.

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

namespace {

struct Attributes {
    std::uint32_t size = sizeof(Attributes), policy = 0;
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t runtime = 0, deadline = 0, period = 0;
};

std::int64_t nanoseconds(clockid_t clock = CLOCK_MONOTONIC) {
    timespec t{};
    clock_gettime(clock, &t);
    return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

void burn(std::int64_t length) {
    for (const std::int64_t end = nanoseconds() + length; nanoseconds() < end;) {}
}

/// CPU time of its own, so that an interrupted burst is still the whole work.
void work(std::int64_t length) {
    for (const std::int64_t end = nanoseconds(CLOCK_THREAD_CPUTIME_ID) + length; nanoseconds(CLOCK_THREAD_CPUTIME_ID) < end;) {}
}

bool set(pid_t id, const Attributes& a) { return syscall(SYS_sched_setattr, id, &a, 0U) == 0; }

bool take_class(const std::string& name) {
    const std::size_t colon = name.find(':');
    const std::string kind = name.substr(0, colon);
    const int value = colon == std::string::npos ? 0 : std::atoi(name.c_str() + colon + 1);
    Attributes a;
    if (kind == "iso") a.policy = 7, a.nice = value;
    else if (kind == "fifo") a.policy = SCHED_FIFO, a.priority = static_cast<std::uint32_t>(value);
    else if (kind == "rr") a.policy = SCHED_RR, a.priority = static_cast<std::uint32_t>(value);
    else if (kind == "nice") a.nice = value;
    else if (kind == "slice") a.runtime = static_cast<std::uint64_t>(value) * 1000;
    else if (kind != "normal") return false;
    return set(0, a);
}

void pin(int cpu) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    if (cpu >= 0) CPU_SET(cpu, &mask);
    else
        for (int i = 0; i < 64; ++i) CPU_SET(i, &mask);
    sched_setaffinity(0, sizeof mask, &mask);
}

struct Options {
    long count = 100, burst = 0;
    std::int64_t period = 1'451'247;  // 64 frames at 44.1 kHz
    double seconds = 5, delay = 0;
    bool yields = false;
    int cpu = -1;
    const char* tag = "it";
    std::int64_t begin = 0;  ///< when all begin together; a task that is kept waiting then is late, not absent
};

int wake(const Options& o) {
    mlockall(MCL_CURRENT | MCL_FUTURE);
    prctl(PR_SET_TIMERSLACK, 1);
    std::vector<std::int64_t> late(static_cast<std::size_t>(o.count));
    std::int64_t due = nanoseconds() + 10 * o.period;
    long missed = 0, after_period = 0;
    for (auto& lateness : late) {
        due += o.period;
        const timespec t{due / 1'000'000'000, due % 1'000'000'000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr);
        lateness = nanoseconds() - due;
        if (o.burst > 0) work(o.burst * 1000);
        const std::int64_t end = nanoseconds() - due;
        after_period += lateness > o.period;
        if (end > o.period) {
            ++missed;
            due += end / o.period * o.period;  // as a sound card after an xrun
        }
    }
    std::sort(late.begin(), late.end());
    std::int64_t sum = 0;
    for (const auto l : late) sum += l;
    const auto at = [&](double part) { return static_cast<double>(late[static_cast<std::size_t>(part * static_cast<double>(late.size() - 1))]) / 1000; };
    std::printf("R wake %s policy=%d avg=%.1f p50=%.1f p99=%.1f max=%.1f late=%ld missed=%ld of=%ld\n", o.tag, sched_getscheduler(0), static_cast<double>(sum) / 1000. / static_cast<double>(o.count),
                at(.5), at(.99), at(1), after_period, missed, o.count);
    return 0;
}

int hog(const Options& o) {
    const std::int64_t start = o.begin ? o.begin : nanoseconds(), end = start + static_cast<std::int64_t>(o.seconds * 1e9);
    unsigned long loops = 0;
    std::int64_t lost = 0;
    double kept = 0;  // when it had lost a tenth of a second of the CPU
    for (std::int64_t now = start, last = start; now < end; last = now) {
        now = nanoseconds();
        if (now - last > 100'000) lost += now - last;
        if (kept == 0 && lost > 100'000'000) kept = static_cast<double>(now - start) / 1e9;
        ++loops;
        if (o.yields) sched_yield();
        else burn(20'000);
    }
    const double wall = static_cast<double>(nanoseconds() - start) / 1e9, cpu = static_cast<double>(nanoseconds(CLOCK_PROCESS_CPUTIME_ID)) / 1e9;
    std::printf("R hog %s policy=%d start=%.2f wall=%.2f cpu=%.3f share=%.2f loops=%lu kept=%.2f\n", o.tag, sched_getscheduler(0), static_cast<double>(start) / 1e9, wall, cpu, 100 * cpu / wall, loops, kept);
    return 0;
}

/// A child of a test that must stay in charge: a level lower, or normal.
void step_back(bool in_class) {
    Attributes a;
    a.policy = in_class ? 7 : SCHED_OTHER;
    a.nice = in_class ? 5 : 0;
    set(0, a);
}

int bomb(const Options& o) {
    long done = 0;
    for (long i = 0; i < o.count; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            burn(200'000);
            if (fork() == 0) _exit(0);
            while (wait(nullptr) > 0) {}
            _exit(0);
        }
        if (child > 0) ++done;
        if (i % 16 == 15)
            while (waitpid(-1, nullptr, WNOHANG) > 0) {}
    }
    while (wait(nullptr) > 0) {}
    std::printf("R bomb %s forked=%ld of=%ld\n", o.tag, done, o.count);
    return 0;
}

int crowd(const Options& o) {
    std::vector<pid_t> children;
    int ends[2];
    if (pipe(ends) != 0) return 1;
    for (long i = 0; i < o.count; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            step_back(true);
            const std::int64_t end = nanoseconds() + static_cast<std::int64_t>(o.seconds * 1e9);
            while (nanoseconds() < end) {
                burn(100'000);
                usleep(i % 2 ? 0 : 1000);
            }
            if (write(ends[1], "x", 1) != 1) _exit(1);
            _exit(0);
        }
        if (child > 0) children.push_back(child);
    }
    close(ends[1]);
    long done = 0;
    char byte;
    while (read(ends[0], &byte, 1) == 1) ++done;
    while (wait(nullptr) > 0) {}
    std::printf("R crowd %s done=%ld of=%ld\n", o.tag, done, o.count);
    return 0;
}

int flip(const Options& o) {
    pid_t children[4];
    for (auto& child : children) {
        child = fork();
        if (child == 0) {
            step_back(false);
            for (;;) {
                burn(300'000);
                usleep(100);
            }
        }
    }
    const std::int64_t end = nanoseconds() + static_cast<std::int64_t>(o.seconds * 1e9);
    unsigned seed = 1;
    const auto random = [&](unsigned n) { return (seed = seed * 1103515245 + 12345) / 65536 % n; };
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    long changes = 0, refused = 0;
    while (nanoseconds() < end) {
        const pid_t child = children[random(4)];
        if (random(3) == 0) {
            cpu_set_t mask;
            CPU_ZERO(&mask);
            const unsigned which = random(static_cast<unsigned>(cpus) + 1);
            for (unsigned i = 0; i < static_cast<unsigned>(cpus); ++i)
                if (which == i || which == static_cast<unsigned>(cpus)) CPU_SET(i, &mask);
            refused += sched_setaffinity(child, sizeof mask, &mask) != 0;
        } else {
            Attributes a;
            a.policy = random(2) ? 7 : random(8) == 0 && geteuid() == 0 ? SCHED_FIFO : SCHED_OTHER;
            if (a.policy == SCHED_FIFO) a.priority = 1;
            else a.nice = static_cast<int>(random(20));
            refused += !set(child, a);
        }
        ++changes;
        usleep(200);
    }
    for (const pid_t child : children) kill(child, SIGKILL);
    while (wait(nullptr) > 0) {}
    std::printf("R flip %s changes=%ld refused=%ld\n", o.tag, changes, refused);
    return 0;
}

int kill_queued(const Options& o) {
    const std::int64_t end = nanoseconds() + static_cast<std::int64_t>(o.seconds * 1e9);
    long killed = 0;
    while (nanoseconds() < end) {
        std::vector<pid_t> children;
        for (long i = 0; i < o.count; ++i) {
            const pid_t child = fork();
            if (child == 0) {
                step_back(true);
                for (;;) burn(100'000);
            }
            if (child > 0) children.push_back(child);
        }
        usleep(5000);
        for (const pid_t child : children) killed += kill(child, SIGKILL) == 0;
        while (wait(nullptr) > 0) {}
    }
    std::printf("R kill %s killed=%ld\n", o.tag, killed);
    return 0;
}

int drain(const Options& o) {
    std::int64_t longest = 0;
    constexpr std::size_t size = 1 << 20;
    for (long i = 0; i < o.count; ++i) {
        // Locking fresh pages waits until each CPU's work queue has handed in the pages that it holds back.
        char* pages = static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        if (pages == MAP_FAILED) return 1;
        for (std::size_t at = 0; at < size; at += 4096) pages[at] = 1;
        const std::int64_t start = nanoseconds();
        if (mlock(pages, size) != 0) return 1;
        longest = std::max(longest, nanoseconds() - start);
        munmap(pages, size);
        usleep(20'000);
    }
    std::printf("R drain %s max=%.2f of=%ld\n", o.tag, static_cast<double>(longest) / 1e6, o.count);
    return 0;
}

// --- A sound server's requests ------------------------------------------------------------------------------------------

double ask_seconds = 1;

void* sleeper(void* name) {
    prctl(PR_SET_NAME, name);
    for (const std::int64_t end = nanoseconds() + static_cast<std::int64_t>(ask_seconds * 1e9); nanoseconds() < end;) usleep(10'000);
    return nullptr;
}

int ask(const Options& o) {
    ask_seconds = o.seconds;
    std::vector<pthread_t> threads;
    // pthread attributes: the C library asks the kernel itself.
    const auto with_attributes = [&](const char* name, int policy, int priority) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
        pthread_attr_setschedpolicy(&attributes, policy);
        const sched_param parameters{.sched_priority = priority};
        pthread_attr_setschedparam(&attributes, &parameters);
        pthread_t thread{};
        const int error = pthread_create(&thread, &attributes, sleeper, const_cast<char*>(name));
        std::printf("R ask %s error=%d\n", name, error);
        if (error == 0) threads.push_back(thread);
    };
    with_attributes("watchdog", SCHED_FIFO, 70);
    with_attributes("server", SCHED_FIFO, 60);
    with_attributes("client", SCHED_RR, 59);
    // A thread that changes itself afterwards.
    pthread_t later{};
    pthread_create(&later, nullptr, sleeper, const_cast<char*>("later"));
    const sched_param ten{.sched_priority = 10};
    std::printf("R ask later error=%d\n", pthread_setschedparam(later, SCHED_FIFO, &ten));
    threads.push_back(later);
    // Raw calls on itself.
    prctl(PR_SET_NAME, "raw");
    Attributes a;
    a.policy = SCHED_FIFO;
    a.priority = 5;
    a.flags = 1;
    std::printf("R ask raw error=%d\n", set(0, a) ? 0 : errno);
    sched_param seen{};
    std::printf("R ask seen policy=%d\n", sched_getscheduler(0));
    sched_getparam(0, &seen);
    std::printf("R ask parameter priority=%d\n", seen.sched_priority);
    const sched_param wrong{.sched_priority = 100};
    std::printf("R ask wrong error=%d\n", sched_setscheduler(0, SCHED_FIFO, &wrong) == 0 ? 0 : errno);
    std::fflush(stdout);
    for (const pthread_t thread : threads) pthread_join(thread, nullptr);
    return 3;
}

}  // namespace

int main(int argc, char** argv) {
    std::string command;
    Options o;
    int at = 1;
    std::string wanted = "normal";
    bool class_given = false;
    for (; at < argc; ++at) {
        const std::string word = argv[at];
        const auto next = [&] { return at + 1 < argc ? argv[++at] : ""; };
        if (word == "-u") {
            const auto user = static_cast<uid_t>(std::atoi(next()));
            if (setgid(user) != 0 || setuid(user) != 0) std::perror("setuid");
        } else if (word == "-c") {
            wanted = next();
            class_given = true;
        } else if (word == "-d") o.delay = std::atof(next());
        else if (word == "-n") o.count = std::atol(next());
        else if (word == "-b") o.burst = std::atol(next());
        else if (word == "-p") o.period = std::atoll(next());
        else if (word == "-s") o.seconds = std::atof(next());
        else if (word == "-y") o.yields = true;
        else if (word == "-C") o.cpu = std::atoi(next());
        else if (word == "-t") o.tag = next();
        else if (command.empty()) command = word;
    }
    if (o.cpu >= 0) pin(o.cpu);
    if (class_given && !take_class(wanted)) {
        std::printf("R error %s class=%s errno=%d\n", o.tag, wanted.c_str(), errno);
        return 1;
    }
    if (o.delay > 0) {
        timespec t{};
        clock_gettime(CLOCK_MONOTONIC, &t);
        t.tv_sec += static_cast<time_t>(o.delay);
        t.tv_nsec = 0;  // all that were started in one second begin together
        o.begin = t.tv_sec * 1'000'000'000LL;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr);
    }
    if (command == "wake") return wake(o);
    if (command == "hog") return hog(o);
    if (command == "bomb") return bomb(o);
    if (command == "crowd") return crowd(o);
    if (command == "flip") return flip(o);
    if (command == "kill") return kill_queued(o);
    if (command == "drain") return drain(o);
    if (command == "ask") return ask(o);
    std::fprintf(stderr, "isotest: no command\n");
    return 2;
}
