// Sessions of the command server: a state machine a client, on its stream's strand, as normal work. A client's commands run
// one after the other; nothing is read while one runs or while its answer is on the way, so a session holds one line and one answer.

#include "net/command_server.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/local/stream_protocol.hpp>
#include <cerrno>
#include <list>
#include <mutex>
#include <system_error>

#include "base/error.h"
#include "base/log.h"
#include "net/line_reader.h"
#include "net/stream_impl.h"
#include "sched/scheduler.h"

namespace castile {

namespace asio = boost::asio;
using asio::ip::tcp;
using Local = asio::local::stream_protocol;
using std::chrono::seconds;

namespace {

const Logger logger("server");

constexpr auto linger_timeout = seconds(2);
constexpr auto pause_after_failure = std::chrono::milliseconds(200);
constexpr int lines_a_turn = 32;   // then other work comes between
constexpr int backlog = 128;

/// Clients that may be served: the rest of the process's descriptors is for music, listeners and outputs.
int client_limit(int wanted) {
    rlimit descriptors{};
    if (::getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return wanted;
    return std::min<int>(wanted, static_cast<int>(std::min<rlim_t>(descriptors.rlim_cur / 8, 1u << 16)));
}

/// "host.example.org", or the address as it is.
std::string name_of(const std::string& address) {
    boost::system::error_code error;
    const auto ip = asio::ip::make_address(address, error);
    if (error) return address;
    const tcp::endpoint endpoint(ip, 0);
    char name[NI_MAXHOST];
    if (::getnameinfo(endpoint.data(), static_cast<socklen_t>(endpoint.size()), name, sizeof name, nullptr, 0, NI_NAMEREQD) != 0) return address;
    return name;
}

struct Shared {
    CommandServerOptions options;
    CommandRunner run;
    std::atomic<int> clients = 0;

    template <class... A>
    void log(int more, fmt::format_string<A...> format, A&&... arguments) const {
        log_line(static_cast<LogLevel>(std::clamp(options.log_level + more, 1, 5)), "server", fmt::format(format, std::forward<A>(arguments)...));
    }
};

class Session : public std::enable_shared_from_this<Session> {
public:
    Session(std::shared_ptr<Shared> shared, std::shared_ptr<SocketStream> stream) : shared_(std::move(shared)), stream_(std::move(stream)) {}
    ~Session() { shared_->clients.fetch_sub(1); }

    /// On the strand.
    void start(std::string client) {
        client_ = std::move(client);
        shared_->log(0, "New client: {}.", client_);
        rest();
        advance();
    }
    /// Any thread.
    void end() {
        stream_->run([self = shared_from_this()] { self->stream_->close(); });
    }

private:
    enum class State { reading, running, writing, leaving };

    // What is done may be done at once and call back: then the loop that is already at work goes on with it.
    void advance() {
        if (std::exchange(advancing_, true)) return;
        bool yields = false;
        for (int turn = 0; !yields && stream_->is_open() && step();) yields = state_ == State::running && ++turn == lines_a_turn;
        advancing_ = false;
        if (yields) wait(true);
    }

    // One wait at a time. After a writable one comes another step, which waits anew for what it needs.
    void wait(bool writable) {
        if (std::exchange(waiting_, true)) return;
        auto again = [self = shared_from_this()] {
            self->waiting_ = false;
            self->advance();
        };
        if (writable) stream_->wait_writable(std::move(again));
        else stream_->wait_readable(std::move(again));
    }

    // One step; true when another can follow at once.
    bool step() {
        switch (state_) {
            case State::reading: return read();
            case State::running: return std::exchange(answered_, false) && take_reply();
            case State::writing: return write();
            case State::leaving: return drain();
        }
        return false;
    }

    bool read() {
        std::size_t used = 0;
        const auto status = reader_.feed({block_ + begin_, end_ - begin_}, used);
        begin_ += used;
        if (status == LineReader::Status::line) return run(reader_.take());
        if (status == LineReader::Status::too_long) {
            shared_->log(0, "Client {} sent a line that is too long.", client_);
            reply({"ERROR: the line is too long.\r\nEND", true});
            return true;
        }
        const auto result = stream_->read(block_);
        begin_ = 0;
        end_ = result.state == NetStream::State::ok ? result.bytes : 0;
        switch (result.state) {
            case NetStream::State::ok: rest(); return true;
            case NetStream::State::again: wait(false); return false;
            case NetStream::State::closed:
            case NetStream::State::failed: break;
        }
        shared_->log(0, "Client {} disconnected without saying goodbye..!", client_);
        stream_->close();
        return false;
    }

    bool run(std::string line) {
        state_ = State::running;
        stream_->cancel_timer();   // a command may take its time
        auto once = std::make_shared<std::atomic<bool>>(false);
        shared_->run(std::move(line), [self = shared_from_this(), once](CommandReply reply) {
            if (once->exchange(true)) return;
            self->stream_->run([self, reply = std::move(reply)]() mutable {
                if (self->state_ != State::running) return;
                self->reply_ = std::move(reply);
                self->answered_ = true;
                self->advance();
            });
        });
        return true;
    }

    bool take_reply() {
        CommandReply reply = std::exchange(reply_, {});
        if (!reply.ends_session) reply.text += "\r\nEND";
        this->reply(std::move(reply));
        return true;
    }

    void reply(CommandReply reply) {
        out_ = std::move(reply.text) + "\r\n";
        written_ = 0;
        leaves_ = reply.ends_session;
        state_ = State::writing;
        rest();
    }

    bool write() {
        while (written_ < out_.size()) {
            const auto result = stream_->write({reinterpret_cast<const std::uint8_t*>(out_.data()) + written_, out_.size() - written_});
            if (result.state == NetStream::State::again) {
                wait(true);
                return false;
            }
            if (result.state != NetStream::State::ok) {
                shared_->log(0, "Client {} disconnected without saying goodbye..!", client_);
                stream_->close();
                return false;
            }
            written_ += result.bytes;
            rest();
        }
        out_ = {};
        if (!leaves_) {
            state_ = State::reading;
            return true;
        }
        shared_->log(0, "Client {} disconnected.", client_);
        leave();
        return true;
    }

    // Closing at once could reset the connection under the answer's last bytes: the peer closes first.
    void leave() {
        state_ = State::leaving;
        stream_->shutdown_write();
        stream_->after(linger_timeout, [self = shared_from_this()] { self->stream_->close(); });
    }

    bool drain() {
        for (int rounds = 0; rounds < 64; ++rounds) {
            const auto result = stream_->read(block_);
            if (result.state == NetStream::State::again) break;
            if (result.state == NetStream::State::ok) continue;
            stream_->close();
            return false;
        }
        wait(false);
        return false;
    }

    // Nothing came or went for too long.
    void rest() {
        if (!shared_->options.timeout) return;
        stream_->after(*shared_->options.timeout, [self = shared_from_this()] {
            self->shared_->log(1, "Timeout reached while communicating to client {}.", self->client_);
            if (self->state_ == State::reading) {
                constexpr std::string_view goodbye = "Connection timed out.. Bye!\r\n";
                self->stream_->write({reinterpret_cast<const std::uint8_t*>(goodbye.data()), goodbye.size()});
            }
            self->shared_->log(0, "Client {} disconnected.", self->client_);
            self->stream_->close();
        });
    }

    const std::shared_ptr<Shared> shared_;
    const std::shared_ptr<SocketStream> stream_;
    std::string client_;
    State state_ = State::reading;
    bool advancing_ = false, waiting_ = false, answered_ = false, leaves_ = false;
    LineReader reader_;
    CommandReply reply_;
    std::string out_;
    std::size_t written_ = 0, begin_ = 0, end_ = 0;   // begin_, end_: bytes of block_ that were not looked at yet
    std::uint8_t block_[2048];
};

/// Accepts on one socket, for as long as the server lives.
template <class Protocol>
class Listener : public std::enable_shared_from_this<Listener<Protocol>> {
public:
    using Acceptor = typename Protocol::acceptor;
    using Socket = asio::basic_stream_socket<Protocol, SocketStream::Strand>;
    using Accepted = std::function<void(Socket)>;

    Listener() : acceptor_(scheduler().io()), pause_(scheduler().io()) {}
    Acceptor& acceptor() noexcept { return acceptor_; }

    void start(Accepted accepted) {
        {
            std::lock_guard lock(acceptor_mutex_);
            accepted_ = std::move(accepted);
        }
        accept();
    }
    void close() noexcept {
        std::lock_guard lock(acceptor_mutex_);
        closed_ = true;
        boost::system::error_code ignored;
        acceptor_.close(ignored);
        pause_.cancel();
    }

private:
    void accept() {
        std::lock_guard lock(acceptor_mutex_);
        if (closed_) return;
        acceptor_.async_accept(asio::make_strand(scheduler().io().get_executor()),
                               [self = this->shared_from_this()](boost::system::error_code error, Socket socket) { self->arrived(error, std::move(socket)); });
    }
    void arrived(boost::system::error_code error, Socket socket) {
        if (error == asio::error::operation_aborted) return;
        if (!error) {
            try {
                accepted_(std::move(socket));
            } catch (const std::exception& e) {
                logger.severe("A client could not be served: {}", e.what());
            }
            return accept();
        }
        // Out of descriptors or memory: waiting is the only cure.
        logger.severe("Failed to accept new client: {}.", error.message());
        std::lock_guard lock(acceptor_mutex_);
        if (closed_) return;
        pause_.expires_after(pause_after_failure);
        pause_.async_wait([self = this->shared_from_this()](boost::system::error_code e) {
            if (!e) self->accept();
        });
    }

    std::mutex acceptor_mutex_;
    Acceptor acceptor_;
    asio::steady_timer pause_;
    Accepted accepted_;
    bool closed_ = false;
};

class Server final : public CommandServer, public std::enable_shared_from_this<Server> {
public:
    Server(CommandServerOptions options, CommandRunner run) : shared_(std::make_shared<Shared>()) {
        options.max_clients = client_limit(std::max(1, options.max_clients));
        shared_->options = std::move(options);
        shared_->run = std::move(run);
    }
    ~Server() override { close(); }

    void open() {
        if (shared_->options.tcp) open_tcp(*shared_->options.tcp);
        if (shared_->options.socket_path) open_local(*shared_->options.socket_path);
        // From here on clients come in.
        const auto serve = [weak = weak_from_this()](std::shared_ptr<SocketStream> stream, std::string client) {
            if (const auto self = weak.lock()) self->accepted(std::move(stream), std::move(client));
        };
        if (tcp_) {
            tcp_->start([serve](Listener<tcp>::Socket socket) {
                auto stream = std::make_shared<SocketStream>(std::move(socket));
                stream->prepare(seconds(30));
                serve(stream, stream->peer());
            });
        }
        if (local_) {
            local_->start([serve](Listener<Local>::Socket socket) {
                // Streams are of one kind of socket; for what they do with the descriptor, the family makes no difference.
                const auto strand = socket.get_executor();
                SocketStream::Socket as_stream(strand);
                as_stream.assign(tcp::v4(), socket.release());
                as_stream.non_blocking(true);
                serve(std::make_shared<SocketStream>(std::move(as_stream)), "on the socket");
            });
        }
    }

    void close() noexcept override {
        if (closed_.exchange(true)) return;
        if (tcp_) tcp_->close();
        if (local_) {
            local_->close();
            ::unlink(shared_->options.socket_path->c_str());
        }
        std::lock_guard lock(sessions_mutex_);
        for (const auto& weak : sessions_)
            if (const auto session = weak.lock()) session->end();
        sessions_.clear();
    }

private:
    void open_tcp(const CommandServerOptions::Tcp& wanted) {
        boost::system::error_code error;
        const auto address = asio::ip::make_address(wanted.address, error);
        if (error) throw Error(fmt::format("settings.server.telnet.bind_addr: \"{}\" is not an address.", wanted.address));
        const tcp::endpoint endpoint(address, wanted.port);
        auto listener = std::make_shared<Listener<tcp>>();
        auto& acceptor = listener->acceptor();
        acceptor.open(endpoint.protocol(), error);
        if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
        if (!error) acceptor.bind(endpoint, error);
        if (!error) acceptor.listen(backlog, error);
        if (error == asio::error::address_in_use) throw Error(fmt::format("The command server cannot start: port {} is already in use (settings.server.telnet.port).", wanted.port));
        if (error) throw Error(fmt::format("The command server cannot listen on {}, port {}: {}.", wanted.address, wanted.port, error.message()));
        tcp_ = std::move(listener);
    }

    void open_local(const std::string& path) {
        const auto fail = [&path](const std::string& why) { throw Error(fmt::format("The command server cannot make its socket {}: {} (settings.server.socket.path).", path, why)); };
        if (path.size() >= sizeof(sockaddr_un{}.sun_path)) fail("the path is too long");
        struct stat info {};
        if (::lstat(path.c_str(), &info) == 0) {
            if (!S_ISSOCK(info.st_mode)) fail("there is a file that is no socket");
            boost::system::error_code nobody;
            Local::socket probe(scheduler().io());
            probe.connect(Local::endpoint(path), nobody);
            if (!nobody) fail("another process listens on it");
            ::unlink(path.c_str());
        }
        boost::system::error_code error;
        auto listener = std::make_shared<Listener<Local>>();
        auto& acceptor = listener->acceptor();
        acceptor.open(Local(), error);
        // Before the socket can be seen: it never has wider permissions than those asked for.
        if (!error) ::fchmod(acceptor.native_handle(), shared_->options.permissions);
        if (!error) acceptor.bind(Local::endpoint(path), error);
        if (error) fail(error.message());
        ::chmod(path.c_str(), shared_->options.permissions);   // whatever the umask says
        acceptor.listen(backlog, error);
        if (error) fail(error.message());
        local_ = std::move(listener);
        shared_->log(0, "Socket created at {}.", path);
    }

    void accepted(std::shared_ptr<SocketStream> stream, std::string client) {
        if (closed_) return stream->close();
        if (shared_->clients.fetch_add(1) >= shared_->options.max_clients) {
            shared_->clients.fetch_sub(1);
            logger.severe("There are {} clients already: more are refused (settings.server.max_clients).", shared_->options.max_clients);
            constexpr std::string_view full = "ERROR: too many clients.\r\nEND\r\n";
            stream->write({reinterpret_cast<const std::uint8_t*>(full.data()), full.size()});
            return stream->close();
        }
        auto session = std::make_shared<Session>(shared_, stream);
        {
            std::lock_guard lock(sessions_mutex_);
            sessions_.remove_if([](const auto& weak) { return weak.expired(); });
            sessions_.push_back(session);
        }
        if (shared_->options.reverse_dns && stream->peer_port() != 0) {
            scheduler().blocking([session, stream, client] { stream->run([session, name = name_of(client)] { session->start(name); }); });
        } else {
            stream->run([session, client = std::move(client)] { session->start(client); });
        }
    }

    const std::shared_ptr<Shared> shared_;
    std::shared_ptr<Listener<tcp>> tcp_;
    std::shared_ptr<Listener<Local>> local_;
    std::mutex sessions_mutex_;
    std::list<std::weak_ptr<Session>> sessions_;
    std::atomic<bool> closed_ = false;
};

}  // namespace

std::shared_ptr<CommandServer> CommandServer::open(CommandServerOptions options, CommandRunner run) {
    auto server = std::make_shared<Server>(std::move(options), std::move(run));
    server->open();
    return server;
}

}  // namespace castile
