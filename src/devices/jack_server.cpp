#include "devices/jack_server.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "base/log.h"
#include "devices/jack_keeper.h"

namespace castile::devices {

namespace {

// As libjack finds it.
std::string default_name() {
    const char* const given = std::getenv("JACK_DEFAULT_SERVER");
    return given && *given ? given : "default";
}

}  // namespace

JackServer::JackServer(std::string name) : name_(std::move(name)), description_(fmt::format("jack({})", name_)) {}

JackServer& JackServer::named(const std::optional<std::string>& name) {
    static auto* servers_mutex = new std::mutex;
    static auto* servers = new std::map<std::string, std::unique_ptr<JackServer>>;
    const std::string whole = name && !name->empty() ? *name : default_name();
    std::lock_guard lock(*servers_mutex);
    auto& server = (*servers)[whole];
    if (!server) server.reset(new JackServer(whole));
    return *server;
}

void JackServer::ask(const std::function<void(const JackLibrary&, jack_client_t*)>& f) {
    const JackLibrary& library = jack_library();
    JackKeeper& keeper = JackKeeper::get();
    std::lock_guard lock(keeper.library_mutex());
    keeper.close_lost(library);
    if (const auto session = keeper.any_session(*this)) return f(library, session->client);
    struct Closer {
        const JackLibrary& library;
        jack_client_t* client;
        ~Closer() { library.client_close(client); }
    } asker{library, open_jack_client(library, "castile", *this)};
    f(library, asker.client);
}

int JackServer::sample_rate() {
    int rate = 0;
    ask([&](const JackLibrary& library, jack_client_t* client) { rate = static_cast<int>(library.get_sample_rate(client)); });
    return rate;
}

int JackServer::buffer_size() {
    int size = 0;
    ask([&](const JackLibrary& library, jack_client_t* client) { size = static_cast<int>(library.get_buffer_size(client)); });
    return size;
}

std::vector<std::string> JackServer::ports(const std::string& pattern, const char* type, unsigned long flags) {
    std::vector<std::string> names;
    ask([&](const JackLibrary& library, jack_client_t* client) {
        const char** found = library.get_ports(client, pattern.empty() ? nullptr : pattern.c_str(), type, flags);
        for (const char** name = found; name && *name; ++name) names.emplace_back(*name);
        if (found) library.free(found);
    });
    return names;
}

void JackServer::connect(const std::string& output, const std::string& input) {
    ask([&](const JackLibrary& library, jack_client_t* client) { connect_jack_ports(library, client, output, input); });
}

// libjack gives one or two more than it takes; and the server may put a number behind the name.
std::string jack_name(const JackLibrary& library, std::string name) {
    constexpr int reserve = 6;
    if (const auto longest = static_cast<std::size_t>(std::max(1, library.client_name_size() - reserve)); name.size() > longest) {
        std::size_t end = longest;
        while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;   // not within a character
        name.resize(end);
    }
    std::ranges::replace(name, ':', '_');   // it ends a client's name in that of a port
    return name;
}

jack_client_t* open_jack_client(const JackLibrary& library, const std::string& name, const JackServer& server) {
    if (const JackServer* other = JackKeeper::get().other_server(server))
        throw Error(fmt::format("Cannot connect to the JACK server \"{}\": libjack talks to one server at a time, and that is \"{}\".", server.server_name(), other->server_name()));
    jack_status_t status{};
    jack_client_t* client = library.client_open(jack_name(library, name).c_str(), static_cast<jack_options_t>(JackNoStartServer | JackServerName), &status,
                                                server.server_name().c_str());
    if (client) return client;
    const char* why = status & JackVersionError ? "it speaks another version of JACK's protocol"
        : status & JackShmFailure              ? "its shared memory cannot be used"
        : status & JackInvalidOption           ? "its name is not one"
                                               : "it does not run, or is another user's";
    throw Error(fmt::format("Cannot connect to the JACK server \"{}\": {}.", server.server_name(), why));
}

void connect_jack_ports(const JackLibrary& library, jack_client_t* client, const std::string& output, const std::string& input) {
    const int code = library.connect(client, output.c_str(), input.c_str());
    if (code == 0 || code == EEXIST) return;
    for (const std::string& name : {output, input})
        if (!library.port_by_name(client, name.c_str())) throw Error(fmt::format("JACK has no port \"{}\".", name));
    throw Error(fmt::format("JACK does not connect \"{}\" to \"{}\": sound goes from an output to an input of the same type.", output, input));
}

}  // namespace castile::devices
