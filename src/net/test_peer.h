#pragma once
// Blocking loopback sockets for the tests of net/: a client, a listening peer, and a scheduler for the code under test.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "net/network.h"
#include "sched/scheduler.h"

namespace castile {

class Peer {
public:
    explicit Peer(int descriptor) : descriptor_(descriptor) {
        const timeval limit{10, 0};
        ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        ::setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    }
    static Peer connect(unsigned short port, int receive_buffer = 0) {
        const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (receive_buffer) ::setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        return Peer(descriptor);
    }
    Peer(Peer&& other) noexcept : buffer_(std::move(other.buffer_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
    ~Peer() { close(); }
    void close() {
        if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
    }

    void finish() const { ::shutdown(descriptor_, SHUT_WR); }   ///< Sends no more, still reads.
    void send(std::string_view text) const {
        while (!text.empty()) {
            const auto n = ::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL);
            if (n <= 0) return;
            text.remove_prefix(static_cast<std::size_t>(n));
        }
    }
    /// Up to and with `mark`; "" when the stream ends or nothing comes.
    std::string read_until(std::string_view mark) {
        std::size_t at = 0;
        while ((at = buffer_.find(mark)) == buffer_.npos) {
            if (!more()) return "";
        }
        const std::string result = buffer_.substr(0, at + mark.size());
        buffer_.erase(0, at + mark.size());
        return result;
    }
    std::string read(std::size_t size) {
        while (buffer_.size() < size && more()) {}
        const std::string result = buffer_.substr(0, size);
        buffer_.erase(0, result.size());
        return result;
    }
    std::string read_all() {
        while (more()) {}
        return std::move(buffer_);
    }
    bool ended() {
        return buffer_.empty() && !more();
    }

private:
    bool more() {
        char block[4096];
        const auto n = ::recv(descriptor_, block, sizeof block, 0);
        if (n > 0) buffer_.append(block, static_cast<std::size_t>(n));
        return n > 0;
    }
    std::string buffer_;
    int descriptor_;
};

/// A server of the test's own.
class PeerServer {
public:
    PeerServer() : descriptor_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::bind(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(::listen(descriptor_, 8), 0);
        socklen_t size = sizeof address;
        ::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size);
        port = ntohs(address.sin_port);
        const timeval limit{10, 0};
        ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    }
    ~PeerServer() { ::close(descriptor_); }
    Peer accept() const { return Peer(::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC)); }
    unsigned short port = 0;

private:
    int descriptor_;
};

inline unsigned short free_port() { return PeerServer().port; }

/// Real sockets need real time: workers run, tests wait for what the peer sees, never for a time to pass.
class NetTest : public testing::Test {
protected:
    NetTest() : scheduler_(SchedulerOptions{.workers = 2}) {
        set_scheduler(&scheduler_);
        scheduler_.start();
    }
    ~NetTest() override {
        finish_network(std::chrono::seconds(2));
        scheduler_.stop();
        set_scheduler(nullptr);
    }
    static bool wait_for(const std::function<bool()>& condition) {
        for (int i = 0; i < 2000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        return condition();
    }
    Scheduler scheduler_;
};

}  // namespace castile
