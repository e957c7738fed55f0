// Signals.

#include "app/signals.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/log.h"
#include "builtins/lifecycle.h"

namespace castile::app {

namespace {

std::atomic<bool> loaded = false;

sigset_t handled() {
    sigset_t set;
    sigemptyset(&set);
    for (int s : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) sigaddset(&set, s);
    return set;
}

void take_signals() {
    pthread_setname_np(pthread_self(), "signals");
    const Logger log("main");
    sigset_t set = handled();
    for (int asked = 0;;) {
        int signal = 0;
        if (sigwait(&set, &signal) != 0) continue;
        if (signal == SIGUSR1 || signal == SIGHUP) {
            reopen_log();
            continue;
        }
        if (++asked > 1) _exit(128 + signal);
        log.important("Shutdown signal received.");
        builtins::request_shutdown(0);
        if (loaded) continue;
        const timespec wait{1, 500'000'000};
        const bool again = sigtimedwait(&set, nullptr, &wait) > 0;
        if (again || !loaded) _exit(again ? 128 + signal : 0);
    }
}

}  // namespace

void block_signals() {
    sigset_t set = handled();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    signal(SIGPIPE, SIG_IGN);
}

void script_loaded() noexcept { loaded = true; }

void start_signal_thread() { std::thread(take_signals).detach(); }

}  // namespace castile::app
