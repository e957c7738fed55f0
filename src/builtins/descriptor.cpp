#include "builtins/descriptor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include "builtins/define.h"
#include "builtins/lifecycle.h"
#include "builtins/threads.h"
#include "sched/readiness.h"

namespace castile::builtins {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t piece = 65536;       // bytes of one read
constexpr double longest_wait = 1e8;       // seconds
constexpr double usual_timeout = 10;       // seconds

const ForeignKind socket_kind{"socket", [](const void*) { return std::string("<unix socket>"); }};

[[noreturn]] void failed(int error) { raise("socket", std::string(std::strerror(error)) + "."); }

/// Until it is ready or the time is over.
bool ready(int fd, bool writing, double timeout) {
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(timeout, longest_wait)));
    for (;;) {
        int milliseconds = -1;
        if (timeout >= 0) {
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
            milliseconds = static_cast<int>(std::clamp<long>(left + 1, 0, 1 << 30));
        }
        pollfd look{fd, static_cast<short>(writing ? POLLOUT : POLLIN), 0};
        const int n = poll(&look, 1, milliseconds);
        if (n > 0) return true;
        if (n == 0 && Clock::now() >= end) return false;
        if (n < 0 && errno != EINTR) failed(errno);
    }
}

const char* const io_type_read = "((?timeout : float?) -> string).{wait : (?timeout : float?, (() -> unit)) -> unit}";
const char* const io_type_write = "((?timeout : float?, string) -> unit).{wait : (?timeout : float?, (() -> unit)) -> unit}";

Value waiter(const std::shared_ptr<Descriptor>& d, bool writing) {
    return native([d, writing](std::span<const CallArgument> a) {
        d->wait(writing, timeout_argument(a, usual_timeout), first_argument(a));
        return Value();
    });
}

}  // namespace

double timeout_argument(std::span<const CallArgument> arguments, double otherwise) {
    for (const CallArgument& a : arguments)
        if (a.label == Name("timeout")) return a.value.is_null() ? -1 : std::max(0., a.value.as_float());
    return otherwise;
}

const Value& first_argument(std::span<const CallArgument> arguments) {
    for (const CallArgument& a : arguments)
        if (a.label.empty()) return a.value;
    raise("invalid", "An argument is missing.");
}

Descriptor::Owned::~Owned() {
    if (!lasting) ::close(fd);
}

Descriptor::Descriptor(int fd, Kind kind, bool lasting) : owned_(new Owned{fd, lasting}), kind_(kind) {}

std::shared_ptr<Descriptor::Owned> Descriptor::use() const {
    std::lock_guard lock(fd_mutex_);
    if (!owned_) raise("socket", "It is closed.");
    return owned_;
}

int Descriptor::fd() const { return use()->fd; }

std::string Descriptor::read(double timeout) {
    const auto owned = use();
    if (timeout >= 0 && !ready(owned->fd, false, timeout)) raise("socket", "Timeout while reading from the socket!");
    std::string data(piece, '\0');
    for (;;) {
        const ssize_t n = ::read(owned->fd, data.data(), data.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) failed(errno);
        data.resize(static_cast<std::size_t>(n));
        return data;
    }
}

void Descriptor::write(const std::string& data, double timeout) {
    const auto owned = use();
    const auto begin = Clock::now();
    for (std::size_t done = 0; done < data.size();) {
        const double left = timeout < 0 ? -1 : std::max(0., timeout - std::chrono::duration<double>(Clock::now() - begin).count());
        if (!ready(owned->fd, true, left)) raise("socket", "Timeout while writing to the socket!");
        // What poll promises for a pipe is less than its buffer: PIPE_BUF bytes.
        const std::size_t wanted = kind_ == Kind::socket ? data.size() - done : std::min<std::size_t>(data.size() - done, 4096);
        const ssize_t n = kind_ == Kind::socket ? ::send(owned->fd, data.data() + done, wanted, MSG_NOSIGNAL | MSG_DONTWAIT)
                                                : ::write(owned->fd, data.data() + done, wanted);
        if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) continue;
        if (n < 0) failed(errno);
        done += static_cast<std::size_t>(n);
    }
}

bool Descriptor::closed() const {
    std::lock_guard lock(fd_mutex_);
    return !owned_;
}

void Descriptor::close() {
    std::shared_ptr<Owned> owned;
    {
        std::lock_guard lock(fd_mutex_);
        owned = std::move(owned_);
    }
    if (owned && kind_ == Kind::socket) ::shutdown(owned->fd, SHUT_RDWR);   // whoever waits on it comes back
}

void Descriptor::set_non_blocking(bool on) {
    const auto owned = use();
    const int flags = fcntl(owned->fd, F_GETFL);
    if (flags < 0 || fcntl(owned->fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK) < 0) failed(errno);
}

void Descriptor::wait(bool writing, double timeout, Value callback) {
    const auto owned = use();
    std::optional<Duration> limit;
    if (timeout >= 0) limit = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::min(timeout, longest_wait)));
    when_ready(scheduler(), owned->fd, writing, limit, [callback = std::move(callback), writing](bool in_time) {
        if (in_time) return scheduler().blocking([callback] { run_task(callback); });
        report_error(RuntimeError("socket", writing ? "Timeout while writing to the socket!" : "Timeout while reading from the socket!"));
    });
}

const std::vector<BuiltinMethod>& descriptor_methods() {
    static const std::vector<BuiltinMethod> methods{
        {"type", "string", "Kind of socket."},
        {"non_blocking", "(bool) -> unit", "Never wait in reads and writes?"},
        {"read", io_type_read, "Data that has come, \"\" at the end. Its method `wait` calls a function once there is some."},
        {"write", io_type_write, "Send data. Its method `wait` calls a function once data can be sent."},
        {"closed", "() -> bool", "Is it closed?"},
        {"close", "() -> unit", "Close it."},
    };
    return methods;
}

const std::string& descriptor_type() {
    static const std::string type = [] {
        std::string out = "socket.{";
        for (const BuiltinMethod& m : descriptor_methods()) out += (out.ends_with('{') ? "" : ", ") + m.name + " : " + m.type;
        return out + "}";
    }();
    return type;
}

Value descriptor_value(const std::shared_ptr<Descriptor>& d) {
    Value read = native([d](std::span<const CallArgument> a) { return text(d->read(timeout_argument(a, usual_timeout))); });
    Value write = native([d](std::span<const CallArgument> a) {
        d->write(first_argument(a).as_string(), timeout_argument(a, usual_timeout));
        return Value();
    });
    return Value::foreign(socket_kind, d)
        .with_method("type", text("unix"))
        .with_method("non_blocking", native([d](std::span<const CallArgument> a) {
            d->set_non_blocking(first_argument(a).as_bool());
            return Value();
        }))
        .with_method("read", read.with_method("wait", waiter(d, false)))
        .with_method("write", write.with_method("wait", waiter(d, true)))
        .with_method("closed", native([d](std::span<const CallArgument>) { return boolean(d->closed()); }))
        .with_method("close", native([d](std::span<const CallArgument>) {
            d->close();
            return Value();
        }));
}

}  // namespace castile::builtins
