#pragma once
// The log of a mount: the bytes of the last moments, once, with the titles and headers that belong to them.

#include <atomic>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "net/mount.h"

namespace castile {

class Listener;

/// What the flush appends to and listeners read from. Positions count bytes since the mount was made.
struct MountLog {
    struct Chunk { Bytes data; std::uint64_t begin; double time; };   // stream time of its first byte
    struct Change { std::uint64_t at; std::string block, song; };
    mutable std::mutex log_mutex;
    std::deque<Chunk> chunks;
    std::deque<Change> titles;
    std::deque<std::pair<std::uint64_t, Bytes>> headers;
    std::uint64_t end = 0;
    double time = 0;
    bool closed = false;
    MountStatus status;

    std::mutex listeners_mutex;
    std::list<std::shared_ptr<Listener>> listeners;
    std::atomic<std::uint64_t> bytes_sent = 0;

    std::uint64_t begin() const noexcept { return chunks.empty() ? end : chunks.front().begin; }
};

}  // namespace castile
