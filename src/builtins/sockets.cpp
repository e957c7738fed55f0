// Sockets: addresses, connections, and other open files as values of the same type.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "base/settings.h"
#include "builtins/define.h"
#include "builtins/descriptor.h"
#include "builtins/paths.h"
#include "lang/text.h"

namespace castile::builtins {

namespace {

[[noreturn]] void failed(int error) { raise("socket", std::string(std::strerror(error)) + "."); }
void check(int result) {
    if (result < 0) failed(errno);
}

std::string named(const void* p, std::initializer_list<std::pair<int, const char*>> names) {
    for (const auto& [number, name] : names)
        if (*static_cast<const int*>(p) == number) return name;
    return "?";
}

int order_numbers(const void* a, const void* b) {
    const int x = *static_cast<const int*>(a), y = *static_cast<const int*>(b);
    return x < y ? -1 : x > y;
}

const ForeignKind domain_kind{"socket_domain",
                              [](const void* p) { return named(p, {{AF_UNIX, "socket.domain.unix"}, {AF_INET, "socket.domain.inet"}, {AF_INET6, "socket.domain.inet6"}}); },
                              order_numbers};
const ForeignKind type_kind{"socket_type",
                            [](const void* p) { return named(p, {{SOCK_STREAM, "socket.type.stream"}, {SOCK_DGRAM, "socket.type.dgram"}, {SOCK_RAW, "socket.type.raw"}}); },
                            order_numbers};

Value domain_value(int domain) { return Value::foreign(domain_kind, std::make_shared<int>(domain)); }
Value type_value(int type) { return Value::foreign(type_kind, std::make_shared<int>(type)); }
int number_of(const Value& v) { return *v.as_foreign<int>(); }

struct InternetAddress {
    bool v6 = false;
    in6_addr bytes{};   // the first four of an IPv4 address

    std::string to_string() const {
        char buffer[INET6_ADDRSTRLEN] = {};
        inet_ntop(v6 ? AF_INET6 : AF_INET, &bytes, buffer, sizeof buffer);
        return buffer;
    }
};

std::string print_internet_address(const void* p) {
    return "socket.internet_address(" + lang::quote_text(static_cast<const InternetAddress*>(p)->to_string()) + ")";
}

const ForeignKind internet_address_kind{"internet_address", print_internet_address, [](const void* a, const void* b) {
    return static_cast<const InternetAddress*>(a)->to_string().compare(static_cast<const InternetAddress*>(b)->to_string());
}};

constexpr const char* internet_address_type = "internet_address.{to_string : () -> string, is_ipv6 : bool}";
const std::vector<BuiltinMethod> internet_address_methods{{"to_string", "() -> string", "As text."}, {"is_ipv6", "bool", "Is it of version 6?"}};

Value internet_address_value(InternetAddress address) {
    auto shared = std::make_shared<InternetAddress>(address);
    return Value::foreign(internet_address_kind, shared)
        .with_method("to_string", native([shared](std::span<const CallArgument>) { return text(shared->to_string()); }))
        .with_method("is_ipv6", boolean(address.v6));
}

InternetAddress internet_address(const std::string& s) {
    InternetAddress a;
    if (inet_pton(AF_INET, s.c_str(), &a.bytes) == 1) return a;
    a.v6 = true;
    if (inet_pton(AF_INET6, s.c_str(), &a.bytes) == 1) return a;
    raise("socket", lang::quote_text(s) + " is no internet address.");
}

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t size = sizeof storage;

    const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&storage); }
    sockaddr* address() { return reinterpret_cast<sockaddr*>(&storage); }
};

std::string path_of(const SocketAddress& a) {
    const auto* u = reinterpret_cast<const sockaddr_un*>(&a.storage);
    const std::size_t length = a.size > offsetof(sockaddr_un, sun_path) ? a.size - offsetof(sockaddr_un, sun_path) : 0;
    return std::string(u->sun_path, strnlen(u->sun_path, length));
}

InternetAddress host_of(const SocketAddress& a) {
    InternetAddress host;
    host.v6 = a.storage.ss_family == AF_INET6;
    if (host.v6) host.bytes = reinterpret_cast<const sockaddr_in6*>(&a.storage)->sin6_addr;
    else std::memcpy(&host.bytes, &reinterpret_cast<const sockaddr_in*>(&a.storage)->sin_addr, sizeof(in_addr));
    return host;
}

int port_of(const SocketAddress& a) {
    return ntohs(a.storage.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&a.storage)->sin6_port
                                                 : reinterpret_cast<const sockaddr_in*>(&a.storage)->sin_port);
}

std::string print_socket_address(const void* p) {
    const auto& a = *static_cast<const SocketAddress*>(p);
    if (a.storage.ss_family == AF_UNIX) return "socket.address.unix(" + lang::quote_text(path_of(a)) + ")";
    const InternetAddress host = host_of(a);
    return "socket.address.internet_address(" + print_internet_address(&host) + ", " + std::to_string(port_of(a)) + ")";
}

const ForeignKind socket_address_kind{"socket_address", print_socket_address,
                                      [](const void* a, const void* b) { return print_socket_address(a).compare(print_socket_address(b)); }};

Value socket_address_value(const SocketAddress& a) {
    return Value::foreign(socket_address_kind, std::make_shared<SocketAddress>(a)).with_method("domain", domain_value(a.storage.ss_family));
}

Value unix_address(const BuiltinArgs& a) {
    const std::string& path = a[0].as_string();
    SocketAddress address;
    auto* u = reinterpret_cast<sockaddr_un*>(&address.storage);
    if (path.size() >= sizeof u->sun_path || path.contains('\0'))
        raise("socket", "The path of a socket has less than " + std::to_string(sizeof u->sun_path) + " bytes.");
    u->sun_family = AF_UNIX;
    std::memcpy(u->sun_path, path.data(), path.size());
    address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
    return socket_address_value(address).with_method("path", a[0]);
}

Value internet_socket_address(const BuiltinArgs& a) {
    const InternetAddress host = *a[0].as_foreign<InternetAddress>();
    const std::int64_t port = a[1].as_int();
    if (port < 0 || port > 65535) raise("socket", "A port is between 0 and 65535.");
    SocketAddress address;
    if (host.v6) {
        auto* in = reinterpret_cast<sockaddr_in6*>(&address.storage);
        in->sin6_family = AF_INET6;
        in->sin6_addr = host.bytes;
        in->sin6_port = htons(static_cast<std::uint16_t>(port));
        address.size = sizeof *in;
    } else {
        auto* in = reinterpret_cast<sockaddr_in*>(&address.storage);
        in->sin_family = AF_INET;
        std::memcpy(&in->sin_addr, &host.bytes, sizeof in->sin_addr);
        in->sin_port = htons(static_cast<std::uint16_t>(port));
        address.size = sizeof *in;
    }
    return socket_address_value(address).with_method("internet_address", internet_address_value(host)).with_method("port", a[1]);
}

std::shared_ptr<Descriptor> new_socket(int domain, int type, int protocol) {
    const int fd = ::socket(domain, type | SOCK_CLOEXEC, protocol);
    check(fd);
    return std::make_shared<Descriptor>(fd, Descriptor::Kind::socket);
}

double usual_accept_timeout() {
    const SettingBase* setting = find_setting("harbor.accept_timeout");
    return setting ? std::get<double>(setting->value()) : 3;
}

/// Waits for a client at most that long; with its address.
std::pair<std::shared_ptr<Descriptor>, SocketAddress> accept_client(const Descriptor& listener, double timeout) {
    if (timeout < 0) timeout = usual_accept_timeout();
    pollfd look{listener.fd(), POLLIN, 0};
    const int n = poll(&look, 1, static_cast<int>(std::min(timeout * 1000, 1e9)));
    check(n);
    if (n == 0) raise("socket", "Timeout while waiting for a client.");
    SocketAddress address;
    const int fd = ::accept4(listener.fd(), address.address(), &address.size, SOCK_CLOEXEC);
    check(fd);
    return {std::make_shared<Descriptor>(fd, Descriptor::Kind::socket), address};
}

Value accept_method(const std::shared_ptr<Descriptor>& listener) {
    return native([listener](std::span<const CallArgument> a) {
        const auto [client, address] = accept_client(*listener, timeout_argument(a, -1));
        return pair(descriptor_value(client), socket_address_value(address));
    });
}

Value with_server_methods(const std::shared_ptr<Descriptor>& d) {
    auto with_address = [d](int (*call)(int, const sockaddr*, socklen_t)) {
        return native([d, call](std::span<const CallArgument> a) {
            const auto address = first_argument(a).as_foreign<SocketAddress>();
            check(call(d->fd(), address->address(), address->size));
            return Value();
        });
    };
    return descriptor_value(d)
        .with_method("bind", with_address([](int fd, const sockaddr* address, socklen_t size) {
            const int on = 1;
            if (address->sa_family != AF_UNIX) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
            return ::bind(fd, address, size);
        }))
        .with_method("listen", native([d](std::span<const CallArgument> a) {
            check(::listen(d->fd(), static_cast<int>(std::clamp<std::int64_t>(first_argument(a).as_int(), 0, SOMAXCONN))));
            return Value();
        }))
        .with_method("connect", with_address([](int fd, const sockaddr* address, socklen_t size) { return ::connect(fd, address, size); }))
        .with_method("accept", accept_method(d));
}

std::vector<BuiltinMethod> server_methods() {
    std::vector<BuiltinMethod> methods = descriptor_methods();
    methods.push_back({"bind", "(socket_address) -> unit", "Take an address."});
    methods.push_back({"listen", "(int) -> unit", "Let clients connect; so many may wait to be accepted."});
    methods.push_back({"connect", "(socket_address) -> unit", "Connect to an address."});
    methods.push_back({"accept", "(?timeout : float?) -> " + descriptor_type() + " * socket_address", "Wait for a client: a socket to it, and its address."});
    return methods;
}

Value socket_pair(const BuiltinArgs& a) {
    int ends[2];
    check(::socketpair(number_of(a[0]), number_of(a[1]) | SOCK_CLOEXEC, static_cast<int>(a[2].as_int()), ends));
    auto first = std::make_shared<Descriptor>(ends[0], Descriptor::Kind::socket), second = std::make_shared<Descriptor>(ends[1], Descriptor::Kind::socket);
    return descriptor_value(first).with_method("peer", descriptor_value(second));
}

std::vector<BuiltinMethod> pair_methods() {
    std::vector<BuiltinMethod> methods = descriptor_methods();
    methods.push_back({"peer", descriptor_type(), "The other end."});
    return methods;
}

std::vector<BuiltinMethod> simple_methods() {
    std::vector<BuiltinMethod> methods;
    for (const BuiltinMethod& m : descriptor_methods())
        if (m.name == "read" || m.name == "write" || m.name == "type" || m.name == "close") methods.push_back(m);
    return methods;
}

SocketAddress address_at(const Value& path) {
    const Value args[] = {path};
    return *unix_address(BuiltinArgs(args, {})).as_foreign<SocketAddress>();
}

Value connect_to(const BuiltinArgs& a) {
    const SocketAddress address = address_at(a[1]);
    auto d = new_socket(AF_UNIX, SOCK_STREAM, 0);
    d->set_non_blocking(a[0].as_bool());
    check(::connect(d->fd(), address.address(), address.size));
    return descriptor_value(d);
}

Value listen_at(const BuiltinArgs& a) {
    const SocketAddress address = address_at(a[1]);
    const auto listener = new_socket(AF_UNIX, SOCK_STREAM, 0);
    listener->set_non_blocking(a[0].as_bool());
    check(::bind(listener->fd(), address.address(), address.size));
    check(::listen(listener->fd(), 1));
    const auto client = accept_client(*listener, -1).first;
    return descriptor_value(client).with_method("close", native([client, listener](std::span<const CallArgument>) {
        client->close();
        listener->close();
        return Value();
    }));
}

/// What the system knows of a host; null when nothing.
Value host_value(const hostent* host) {
    if (!host) return Value::null();
    std::vector<Value> addresses;
    std::vector<std::string> aliases;
    for (char** alias = host->h_aliases; *alias; ++alias) aliases.emplace_back(*alias);
    for (char** address = host->h_addr_list; *address; ++address) {
        InternetAddress a;
        a.v6 = host->h_addrtype == AF_INET6;
        std::memcpy(&a.bytes, *address, a.v6 ? sizeof(in6_addr) : sizeof(in_addr));
        addresses.push_back(internet_address_value(a));
    }
    return Value::record({{"name", text(host->h_name)}, {"aliases", strings(aliases)}, {"domain", domain_value(host->h_addrtype)},
                          {"addresses", Value::list(std::move(addresses))}});
}

Value host_of_name(const BuiltinArgs& a) {
    hostent host{}, *found = nullptr;
    std::vector<char> buffer(8192);
    int error = 0;
    gethostbyname_r(a[0].as_string().c_str(), &host, buffer.data(), buffer.size(), &found, &error);
    return host_value(found);
}

Value host_of_address(const BuiltinArgs& a) {
    const InternetAddress address = *a[0].as_foreign<InternetAddress>();
    hostent host{}, *found = nullptr;
    std::vector<char> buffer(8192);
    int error = 0;
    gethostbyaddr_r(&address.bytes, address.v6 ? sizeof(in6_addr) : sizeof(in_addr), address.v6 ? AF_INET6 : AF_INET, &host, buffer.data(), buffer.size(), &found, &error);
    return host_value(found);
}

Value open_file(const BuiltinArgs& a) {
    const std::string path = expanded(a[5].as_string());
    const bool write = a[0].as_bool(), create = a[1].is_null() ? write : a[1].as_bool();
    int flags = (write ? O_RDWR : O_RDONLY) | O_CLOEXEC;
    if (create) flags |= O_CREAT;
    if (write) flags |= a[2].as_bool() ? O_APPEND : O_TRUNC;
    if (a[3].as_bool()) flags |= O_NONBLOCK;
    const int fd = ::open(path.c_str(), flags, static_cast<mode_t>(a[4].as_int()));
    if (fd < 0) raise("file", "Cannot open " + path + ": " + std::strerror(errno) + ".");
    return descriptor_value(std::make_shared<Descriptor>(fd, Descriptor::Kind::file));
}

const std::string host_type = std::string("{name : string, aliases : [string], domain : socket_domain, addresses : [") + internet_address_type + "]}?";
const std::vector<BuiltinParam> kind_params{
    opt("domain", "socket_domain", "socket.domain.inet", "Family of addresses."), opt("type", "socket_type", "socket.type.stream", "Kind of connection."),
    opt("protocol", "int", "0", "Number of the protocol; 0: the usual one."),
};
const std::vector<BuiltinParam> path_params{opt("non_blocking", "bool", "false", "Never wait in reads and writes?"), pos("string", "Path of the socket.")};

const Definitions internet("Internet", {
    {"socket.unix", "A new socket, to bind or to connect.", kind_params, "socket",
     [](const BuiltinArgs& a) { return with_server_methods(new_socket(number_of(a[0]), number_of(a[1]), static_cast<int>(a[2].as_int()))); }, server_methods()},
    {"socket.pair", "A socket that is connected to another: its `peer`.", kind_params, "socket", socket_pair, pair_methods()},
    {"socket.internet_address", "An internet address of its text.", {pos("string", "Such as 127.0.0.1 or ::1.")}, "internet_address",
     [](const BuiltinArgs& a) { return internet_address_value(internet_address(a[0].as_string())); }, internet_address_methods},
    {"socket.address.unix", "The address of a socket file.", {pos("string", "Path.")}, "socket_address", unix_address,
     {{"domain", "socket_domain", "Its family."}, {"path", "string", "Path."}}},
    {"socket.address.internet_address", "The address of a port of a host.", {pos(internet_address_type, "Host."), pos("int", "Port.")}, "socket_address", internet_socket_address,
     {{"domain", "socket_domain", "Its family."}, {"internet_address", internet_address_type, "Host."}, {"port", "int", "Port."}}},
    {"host.of_name", "A host by its name; null when it is unknown.", {pos("string", "Name.")}, host_type.c_str(), host_of_name},
    {"host.of_internet_address", "A host by its address; null when it is unknown.", {pos("internet_address", "Address.")}, host_type.c_str(), host_of_address},
});

const Definitions files("File", {
    {"file.open", "Open a file.",
     {opt("write", "bool", "false", "For writing too?"), opt("create", "bool?", "null", "Make it when it is missing? Null: when writing."), opt("append", "bool", "false", "Write after what is there?"),
      opt("non_blocking", "bool", "false", "Never wait in reads and writes?"), opt("perms", "int", "420", "Permissions of a new file."), pos("string", "Path.")},
     "socket", open_file, descriptor_methods()},
    {"socket.unix.client", "Connect to a socket file.", path_params, "socket", connect_to, simple_methods()},
    {"socket.unix.listen", "Make a socket file and wait for a client to connect.", path_params, "socket", listen_at, simple_methods()},
});

Value standard(int fd) { return descriptor_value(std::make_shared<Descriptor>(fd, Descriptor::Kind::file, true)); }

const Constants constants("Internet", {
    {"socket.domain.unix", "Sockets of this machine, named by paths.", "socket_domain", [] { return domain_value(AF_UNIX); }},
    {"socket.domain.inet", "Internet sockets, version 4.", "socket_domain", [] { return domain_value(AF_INET); }},
    {"socket.domain.inet6", "Internet sockets, version 6.", "socket_domain", [] { return domain_value(AF_INET6); }},
    {"socket.type.stream", "A connection: bytes in order.", "socket_type", [] { return type_value(SOCK_STREAM); }},
    {"socket.type.dgram", "Single messages.", "socket_type", [] { return type_value(SOCK_DGRAM); }},
    {"socket.type.raw", "Raw packets.", "socket_type", [] { return type_value(SOCK_RAW); }},
    {"socket.internet_address.any", "Every address of this machine, to bind.", internet_address_type, [] { return internet_address_value(internet_address("0.0.0.0")); }},
    {"socket.internet_address.loopback", "This machine.", internet_address_type, [] { return internet_address_value(internet_address("127.0.0.1")); }},
    {"socket.internet_address.ipv6.any", "Every address of this machine, to bind.", internet_address_type, [] { return internet_address_value(internet_address("::")); }},
    {"socket.internet_address.ipv6.loopback", "This machine.", internet_address_type, [] { return internet_address_value(internet_address("::1")); }},
});

const Constants streams("System", {
    {"process.stdin", "Standard input.", descriptor_type().c_str(), [] { return standard(0); }},
    {"process.stdout", "Standard output.", descriptor_type().c_str(), [] { return standard(1); }},
    {"process.stderr", "Standard error.", descriptor_type().c_str(), [] { return standard(2); }},
});

void reopen(int fd, const std::string& path, int flags) {
    std::fflush(fd == 2 ? stderr : stdout);
    const int opened = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
    if (opened < 0) raise("file", "Cannot open " + path + ": " + std::strerror(errno) + ".");
    dup2(opened, fd);
    ::close(opened);
}

const Definitions reopening("System", {
    {"reopen.stdin", "Read standard input from a file from now on.", {pos("string", "Path.")}, "unit", [](const BuiltinArgs& a) {
        reopen(0, a[0].as_string(), O_RDONLY);
        return Value(); }},
    {"reopen.stdout", "Write standard output to a file from now on.", {pos("string", "Path.")}, "unit", [](const BuiltinArgs& a) {
        reopen(1, a[0].as_string(), O_WRONLY | O_CREAT | O_TRUNC);
        return Value(); }},
    {"reopen.stderr", "Write standard error to a file from now on.", {pos("string", "Path.")}, "unit", [](const BuiltinArgs& a) {
        reopen(2, a[0].as_string(), O_WRONLY | O_CREAT | O_TRUNC);
        return Value(); }},
});

}  // namespace

}  // namespace castile::builtins
