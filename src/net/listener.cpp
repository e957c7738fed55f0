// From the log to the socket, as fast as the socket takes it.

#include "net/listener.h"

#include <fmt/format.h>

#include <algorithm>

#include "net/network.h"

namespace castile {

namespace {

constexpr std::size_t write_block = 16u << 10;  // a listener's own buffer, at most this and a title

}  // namespace

Listener::Listener(NetStreamPtr stream, std::shared_ptr<Mount> mount, std::shared_ptr<MountLog> log, bool icy, std::string head)
    : stream_(std::move(stream)), mount_(std::move(mount)), log_(std::move(log)), out_(std::move(head)) {
    if (icy) icy_.emplace(mount_->options().metaint);
    id_ = fmt::format("{}:{}", stream_->peer(), stream_->peer_port());
}

void Listener::join(std::uint64_t position, const Bytes& header) {
    position_ = position;
    if (!header || header->empty()) return;
    append({header->data(), header->size()});
}

// On the strand: as much as the socket takes.
void Listener::pump() {
    while (!done_) {
        if (written_ == out_.size()) {
            out_.clear();
            written_ = 0;
            if (!fetch()) break;
        }
        const auto result = stream_->write({reinterpret_cast<const std::uint8_t*>(out_.data()) + written_, out_.size() - written_});
        if (result.state == NetStream::State::ok) {
            written_ += result.bytes;
            log_->bytes_sent += result.bytes;
            progressed_ = true;
            continue;
        }
        if (result.state != NetStream::State::again) return leave(stream_->error().empty() ? "closed" : stream_->error());
        waiting_ = true;
        stream_->wait_writable([self = shared_from_this()] {
            self->waiting_ = false;
            self->pump();
        });
        if (!ending_) watch_progress();
        return;
    }
    if (done_) return;
    if (out_.capacity() > 4096) std::string().swap(out_);
    if (timed_) stream_->cancel_timer();
    timed_ = false;
    if (ending_) leave("end of the stream");
}

void Listener::more() {
    stream_->run([self = shared_from_this()] {
        if (!self->waiting_) return self->pump();
        if (self->late()) self->leave("too slow");  // its socket may never take another byte
    });
}

void Listener::end() {
    stream_->run([self = shared_from_this(), busy = network_busy()] {
        self->ending_ = true;
        if (!self->waiting_) self->pump();
        if (!self->done_) self->stream_->after(std::chrono::milliseconds(500), [self, busy] { self->leave("end of the stream"); });
    });
}

void Listener::watch_peer() {
    std::uint8_t block[512];
    for (int rounds = 0; rounds < 16; ++rounds) {
        const auto result = stream_->read(block);
        if (result.state == NetStream::State::ok) continue;  // what a listener says is not listened to
        if (result.state == NetStream::State::again) {
            stream_->wait_readable([self = shared_from_this()] { self->watch_peer(); });
            return;
        }
        return leave("closed");
    }
    leave("sends data");
}

void Listener::append(ByteSpan data) {
    if (!icy_) {
        out_.append(reinterpret_cast<const char*>(data.data()), data.size());
        return;
    }
    icy_->append(data, out_, [this] { return title_block(); });
}

// The title that holds at the current position, once. log_mutex held.
std::string Listener::title_block() {
    const MountLog::Change* current = nullptr;
    for (const auto& change : log_->titles) {
        if (change.at <= block_position_) current = &change;
    }
    if (!current || (title_sent_ && title_sent_at_ == current->at)) return {};
    title_sent_ = true;
    title_sent_at_ = current->at;
    return current->block;
}

bool Listener::late() {
    std::lock_guard lock(log_->log_mutex);
    return !done_ && position_ < log_->begin();
}

// The next bytes of the log into out_; false: none, or this listener is too late.
bool Listener::fetch() {
    std::unique_lock lock(log_->log_mutex);
    if (position_ >= log_->end) return false;
    if (position_ < log_->begin()) {
        lock.unlock();
        leave("too slow");
        return false;
    }
    const auto first = std::ranges::upper_bound(log_->chunks, position_, {}, &MountLog::Chunk::begin) - 1;
    for (auto chunk = first; chunk != log_->chunks.end() && out_.size() < write_block; ++chunk) {
        ByteSpan data{chunk->data->data(), chunk->data->size()};
        data = data.subspan(static_cast<std::size_t>(position_ - chunk->begin));
        data = data.first(std::min(data.size(), write_block - out_.size()));
        while (!data.empty()) {  // cut at block positions, so that a title is asked for where it stands
            const auto part = icy_ ? data.first(std::min(data.size(), icy_->until_block())) : data;
            block_position_ = position_ + part.size();
            append(part);
            position_ += part.size();
            data = data.subspan(part.size());
        }
        if (position_ < chunk->begin + chunk->data->size()) break;
    }
    return !out_.empty();
}

void Listener::watch_progress() {
    if (timed_ && !progressed_) return;
    timed_ = true;
    progressed_ = false;
    stream_->after(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(mount_->options().timeout)), [self = shared_from_this()] {
        if (!self->done_) self->leave(fmt::format("no progress for {:.0f} seconds", self->mount_->options().timeout));
    });
}

void Listener::leave(const std::string& reason) {
    if (std::exchange(done_, true)) return;
    stream_->close();
    if (on_leave) std::exchange(on_leave, nullptr)(reason);
}

}  // namespace castile
