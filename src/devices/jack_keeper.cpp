#include "devices/jack_keeper.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "devices/devices.h"
#include "sched/scheduler.h"

namespace castile::devices {

namespace {

const Logger logger("jack");

constexpr auto retry_time = std::chrono::seconds(1);
constexpr auto news_time = std::chrono::milliseconds(100);   // within which all clients hear that a server died

}  // namespace

JackKeeper& JackKeeper::get() {
    static auto* keeper = new JackKeeper;   // JACK's threads may call until the process ends
    return *keeper;
}

void JackKeeper::add(const std::shared_ptr<JackClient>& client) {
    {
        std::lock_guard lock(clients_mutex_);
        if (std::find(clients_.begin(), clients_.end(), client) == clients_.end()) clients_.push_back(client);
    }
    soon();
}

void JackKeeper::link(JackLink link) {
    {
        std::lock_guard lock(clients_mutex_);
        links_.push_back(std::make_shared<JackLink>(std::move(link)));
    }
    soon();
}

void JackKeeper::soon() noexcept {
    if (scheduled_.exchange(true)) return;
    try {
        scheduler().blocking([] { get().round(); });
    } catch (...) {
        scheduled_ = false;
    }
}

std::vector<std::shared_ptr<JackClient>> JackKeeper::clients() const {
    std::lock_guard lock(clients_mutex_);
    return clients_;
}

bool JackKeeper::wait_closed(std::chrono::milliseconds longest) {
    std::unique_lock lock(clients_mutex_);
    return closed_.wait_for(lock, longest, [this] { return clients_.empty(); });
}

bool wait_for_devices(std::chrono::milliseconds longest) { return JackKeeper::get().wait_closed(longest); }

std::shared_ptr<JackSession> JackKeeper::any_session(const JackServer& server) const {
    for (const auto& client : clients()) {
        if (&client->server() != &server) continue;
        std::lock_guard lock(client->session_mutex_);
        if (client->session_ && client->session_->running()) return client->session_;
    }
    return nullptr;
}

const JackServer* JackKeeper::other_server(const JackServer& server) const {
    for (const auto& client : clients())
        if (&client->server() != &server && client->opened()) return &client->server();
    return nullptr;
}

void JackKeeper::close_lost(const JackLibrary& library) {
    const auto lost = [](const JackClient& client) {
        std::lock_guard lock(client.session_mutex_);
        return client.session_ && client.session_->lost;
    };
    bool waited = false;
    for (const auto& client : clients()) {
        if (!lost(*client)) continue;
        if (!std::exchange(waited, true)) {
            logger.important("The server of {} is gone. It is looked for every second.", client->server().name());
            std::this_thread::sleep_for(news_time);
        }
    }
    if (!waited) return;
    for (const auto& client : clients()) {
        if (!lost(*client)) continue;
        client->close(library);
        client->told_.clear();
    }
}

bool JackKeeper::open_wanted() {
    bool missing = false;
    for (const auto& client : clients()) {
        if (!client->wanted()) continue;
        {
            std::lock_guard lock(client->session_mutex_);
            if (client->session_) continue;
        }
        std::string failure;
        try {
            client->open(jack_library());
            std::lock_guard lock(clients_mutex_);
            for (const auto& link : links_) link->done = false;   // either side may have been this client
        } catch (const std::exception& error) {
            failure = error.what();
            missing = true;
        }
        if (!failure.empty() && failure != client->told_) logger.severe("{}: {} It is tried again every second.", client->name(), failure);
        client->told_ = std::move(failure);
        client->tried();
    }
    return missing;
}

// The functions that name ports may be the script's, and may ask a server: no lock is held while they run.
bool JackKeeper::connect_links() {
    std::vector<std::shared_ptr<JackLink>> links;
    {
        std::lock_guard lock(clients_mutex_);
        std::erase_if(links_, [](const auto& link) { return link->refused || link->owner.expired(); });
        links = links_;
    }
    bool missing = false;
    for (const auto& link : links) {
        const std::shared_ptr<JackClient> owner = link->owner.lock();
        if (!owner || link->done || !owner->connected()) continue;
        std::string failure;
        try {
            const std::vector<std::string> outputs = link->outputs(), inputs = link->inputs();
            if (outputs.empty() || inputs.empty()) {
                missing = true;
                continue;
            }
            link->refused = true;   // whatever their names, these never fit
            const auto pairs = pair_ports(outputs, inputs);
            link->refused = false;
            for (const auto& [output, input] : pairs) owner->server().connect(output, input);
            link->done = true;
        } catch (const std::exception& error) {
            failure = error.what();
            missing = missing || !link->refused;
        }
        if (!failure.empty() && failure != link->told) logger.severe("{}: {}", owner->name(), failure);
        link->told = std::move(failure);
    }
    return missing;
}

void JackKeeper::round() {
    std::lock_guard one(round_mutex_);
    scheduled_ = false;   // news from here on may come too late for this round: at most one waits for its end
    bool missing = false;
    std::vector<std::shared_ptr<JackClient>> gone;   // released outside the locks
    {
        std::lock_guard lock(library_mutex_);
        bool any = false;
        for (const auto& client : clients()) any = any || client->opened();
        if (any) close_lost(jack_library());
        for (const auto& client : clients()) {
            if (client->wanted()) continue;
            if (client->opened()) client->close(jack_library());
            std::lock_guard list(clients_mutex_);
            if (client->wanted()) continue;   // again, meanwhile
            std::erase(clients_, client);
            gone.push_back(client);
            closed_.notify_all();
        }
        missing = open_wanted();
        for (const auto& client : clients())
            if (client->opened()) client->keep_peers(jack_library());
    }
    if (connect_links()) missing = true;
    if (missing && !timer_set_.exchange(true))
        scheduler().after(retry_time, [] {
            get().timer_set_ = false;
            get().soon();
        });
}

}  // namespace castile::devices
