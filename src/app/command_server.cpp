// Settings of the command server, and the way from its lines to the commands.

#include "app/command_server.h"

#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "app/settings.h"
#include "base/error.h"
#include "base/settings.h"
#include "net/command_server.h"
#include "sched/scheduler.h"
#include "script/commands.h"

namespace castile::app {

namespace {

Setting<bool> telnet{"server.telnet", false, "Take commands over TCP, as `telnet` speaks it. There is no password: keep it to the machine itself."};
Setting<std::string> bind_addr{"server.telnet.bind_addr", "127.0.0.1", "Address that the command server listens on."};
Setting<int> port{"server.telnet.port", 1234, "Port that the command server listens on."};
Setting<bool> revdns{"server.telnet.revdns", false, "Look up the names of clients for the log."};
Setting<bool> reverse_dns{"server.telnet.reverse_dns", false, "The same under an older name."};
Setting<bool> unix_socket{"server.socket", false, "Take commands over a Unix socket: whoever may write to the file may give commands."};
Setting<std::string> socket_path{"server.socket.path", "<sysrundir>/<script>.sock", "Path of the socket; `<sysrundir>`, `<script>` and `<pid>` are replaced."};
Setting<int> socket_permissions{"server.socket.permissions", 384, "Permissions of the socket: 384 is 0o600."};
Setting<double> timeout{"server.timeout", 30., "Seconds without a command after which a client is sent away; negative: never."};
Setting<int> max_clients{"server.max_clients", 256, "Clients that the command server takes at once."};
Setting<int> log_level{"server.log.level", 3, "Level of the log lines about clients."};

std::shared_ptr<CommandServer> server;   // main thread

// Commands that may wait (a script may do anything) do so on the blocking pool.
void run(std::string line, std::function<void(CommandReply)> done) {
    const auto answer = [](const std::string& command) {
        script::CommandAnswer a = script::run_command(command);
        return CommandReply{std::move(a.text), a.ends_session};
    };
    if (script::is_quick_command(line)) return done(answer(line));
    scheduler().blocking([line = std::move(line), done = std::move(done), answer] { done(answer(line)); });
}

}  // namespace

void start_command_server() {
    if (!telnet.get() && !unix_socket.get()) return;
    CommandServerOptions options;
    options.tcp.reset();
    if (telnet.get()) {
        const int number = port.get();
        if (number < 1 || number > 65535) throw Error(fmt::format("settings.server.telnet.port: {} is not a port.", number));
        options.tcp = {bind_addr.get(), static_cast<unsigned short>(number)};
    }
    if (unix_socket.get()) {
        options.socket_path = expand_path(socket_path.get());
        need_folder(*options.socket_path, "command server's socket", "settings.server.socket.path");
    }
    options.permissions = static_cast<unsigned>(socket_permissions.get()) & 0777;
    options.timeout.reset();
    if (timeout.get() >= 0) options.timeout = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::min(timeout.get(), 1e9)));
    options.max_clients = max_clients.get();
    options.reverse_dns = revdns.get() || reverse_dns.get();
    options.log_level = log_level.get();
    server = CommandServer::open(std::move(options), run);
}

void stop_command_server() noexcept {
    if (server) server->close();
    server.reset();
}

}  // namespace castile::app
