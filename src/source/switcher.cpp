#include "source/switcher.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/error.h"

namespace castile {

namespace {

/// Its input for so long, then nothing: what a transition hears of the source that is left.
class Ending final : public Source {
public:
    Ending(SourcePtr input, Ticks length) : Source(input->id() + ".ending"), left_(length) { add_input(std::move(input), true); }
    std::optional<Ticks> remaining() noexcept override { return left_; }
    Source* effective_source() noexcept override { return inputs().empty() ? this : inputs()[0]->effective_source(); }

protected:
    bool can_generate() noexcept override {
        if (left_.count > 0) return inputs()[0]->ready();
        // Heard out, it lets go of its input: else each transition would keep the one before alive, for ever.
        if (!std::exchange(released_, true)) clock()->run_between_ticks([weak = weak_from_this()] {
            if (const auto self = std::static_pointer_cast<Ending>(weak.lock())) self->remove_input(*self->inputs()[0]);
        });
        return false;
    }
    void generate(Frame& out, Ticks wanted) noexcept override {
        Source& input = *inputs()[0];
        const Frame& frame = input.peek_frame();
        const Ticks length = std::min({wanted, left_, frame.length()});
        out.append(frame, {}, length);
        input.consume(length);
        left_ -= length;
    }

private:
    Ticks left_;
    bool released_ = false;
};

}  // namespace

Switcher::Switcher(std::string operator_name, std::vector<Child> children) : Source(std::move(operator_name)) {
    entries_.reserve(children.size());
    for (Child& child : children) {
        add_input(child.source, true);
        queue_.push_back(child.source);
        entries_.push_back({.child = std::move(child)});
    }
}

// --- Queries -------------------------------------------------------------------------------------------------------

SourcePtr Switcher::selected() const {
    std::lock_guard lock(selected_mutex_);
    return selected_;
}

std::vector<SourcePtr> Switcher::queue() const {
    std::lock_guard lock(selected_mutex_);
    return queue_;
}

bool Switcher::fallible() const noexcept {
    return std::none_of(entries_.begin(), entries_.end(),
                        [](const Entry& e) { return !e.child.source->fallible() && !e.child.available && !e.child.single; });
}

bool Switcher::live() const noexcept {
    return std::any_of(entries_.begin(), entries_.end(), [](const Entry& e) { return e.child.source->live(); });
}

std::optional<Ticks> Switcher::remaining() noexcept { return current_ < 0 ? Ticks{} : streamed().remaining(); }
Ticks Switcher::seek(Ticks by) noexcept { return current_ < 0 ? Ticks{} : streamed().seek(by); }
void Switcher::add_sync_uses(SyncUses& uses) noexcept {
    if (current_ >= 0) streamed().add_sync_uses(uses);
}
Source* Switcher::effective_source() noexcept { return current_ < 0 ? this : streamed().effective_source(); }

void Switcher::skip() noexcept {
    if (current_ < 0) return;
    streamed().clear_last_metadata();  // of a track that never resumes
    streamed().skip();
}

// --- Choosing ------------------------------------------------------------------------------------------------------

void Switcher::begin() noexcept {
    const std::int64_t now = clock()->tick_count();
    if (now == begun_tick_) return;
    begun_tick_ = now;
    transition_used_ = {};
    for (Entry& entry : entries_) {
        entry.used = {};
        entry.available.reset();
        entry.track_sensitive.reset();
    }
    if (!left_.empty()) release_left();
}

bool Switcher::available(Entry& entry) noexcept {
    if (!entry.available) entry.available = !entry.child.available || entry.child.available();
    return *entry.available;
}

bool Switcher::sensitive(Entry& entry) noexcept {
    if (!entry.track_sensitive) entry.track_sensitive = entry.child.track_sensitive ? entry.child.track_sensitive() : !entry.child.source->live();
    return *entry.track_sensitive;
}

bool Switcher::has_data(Entry& entry) noexcept {
    if (entry.gone) return false;
    const bool is_current = current_ >= 0 && &entry == &entries_[static_cast<std::size_t>(current_)];
    Source& source = is_current ? streamed() : *entry.child.source;
    const Ticks already = is_current ? used() : entry.used;
    if (!source.ready()) return false;
    return already.count == 0 || source.peek_frame().length() > already;
}

// The first that may enter. In the middle of a track the current one stays while it insists on boundaries.
int Switcher::choose(bool boundary) noexcept {
    if (evaluate_all)
        for (Entry& entry : entries_) available(entry);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        Entry& entry = entries_[i];
        if (static_cast<int>(i) == current_) {
            if (boundary ? available(entry) && !entry.child.single && has_data(entry) : sensitive(entry) || available(entry)) return current_;
        } else if (available(entry)) {
            const bool may_enter = boundary || !sensitive(entry) || !sensitive(entries_[static_cast<std::size_t>(current_)]);
            if (may_enter && has_data(entry)) return static_cast<int>(i);
        }
    }
    return -1;
}

bool Switcher::decide(bool boundary) noexcept {
    const int chosen = choose(boundary);
    if (chosen != current_) {
        if (chosen < 0)
            leave(true);
        else
            select(chosen, boundary);
    }
    return current_ >= 0;
}

void Switcher::select(int index, bool boundary) noexcept {
    Entry& entry = entries_[static_cast<std::size_t>(index)];
    const bool first = current_ < 0;
    if (first)
        log().important("Switch to {}.", entry.child.source->id());
    else
        log().important("Switch to {} {}.", entry.child.source->id(), boundary ? "at track boundary" : "with transition");
    SourcePtr ending;
    if (!first && !boundary && entry.child.transition) ending = transition_ ? transition_ : entries_[static_cast<std::size_t>(current_)].child.source;
    merged_ = !first && merges_tracks();
    const bool replay = !entry.child.replay_metadata || entry.child.replay_metadata();
    replayed_ = replay ? entry.child.source->last_metadata() : nullptr;
    SourcePtr entering = entry.child.transition ? enter(entry, ending) : nullptr;
    if (entering == entry.child.source) entering = nullptr;
    // What enters is woken before what is left sleeps: a source that both hold stays awake.
    if (!first) leave(boundary);
    transition_ = std::move(entering);
    transition_used_ = {};
    current_ = index;
    entry.tracks = 0;
    fresh_ = true;
    std::lock_guard lock(selected_mutex_);
    selected_ = entry.child.source;
}

SourcePtr Switcher::enter(Entry& entry, const SourcePtr& ending) noexcept {
    try {
        double length = transition_length;
        if (const MetadataPtr m = ending ? ending->last_metadata() : nullptr; m && !transition_override.empty())
            if (const std::string* own = m->find(transition_override)) length = std::clamp(std::strtod(own->c_str(), nullptr), 0., 3600.);
        const SourcePtr limited = ending ? std::make_shared<Ending>(ending, ticks_from_seconds(length)) : nullptr;
        SourcePtr made = entry.child.transition(limited, entry.child.source);
        if (!made || made == entry.child.source) return nullptr;
        add_input(made, true);
        if (limited) left_.push_back({entries_[static_cast<std::size_t>(current_)].child.source, limited, false, static_cast<std::size_t>(current_)});
        return made;
    } catch (const std::exception& e) {
        log().severe("The transition failed, there is none: {}", e.what());
    } catch (...) {
        log().severe("The transition failed, there is none.");
    }
    return nullptr;
}

void Switcher::leave(bool boundary) noexcept {
    if (current_ < 0) return;
    const auto index = static_cast<std::size_t>(current_);
    const SourcePtr& source = entries_[index].child.source;
    const bool held = !left_.empty() && left_.back().source == source;
    if (transition_) {
        remove_input(*transition_);
        transition_.reset();
    }
    current_ = -1;
    if (!held) left_.push_back({source, nullptr, boundary, index});
    {
        std::lock_guard lock(selected_mutex_);
        selected_.reset();
    }
    release_left();
}

// A source that was left is done with when no transition holds it any more.
void Switcher::release_left() noexcept {
    for (std::size_t i = 0; i < left_.size();) {
        if (left_[i].held && (left_[i].held->awake() && left_[i].held->ready())) {
            ++i;
            continue;
        }
        const Left done = std::move(left_[i]);
        left_.erase(left_.begin() + static_cast<std::ptrdiff_t>(i));
        const Child& child = entries_[done.entry].child;
        if (!done.boundary && child.skip_interrupted) {
            done.source->clear_last_metadata();
            done.source->skip();
        }
        if (!child.on_leave) continue;
        try {
            child.on_leave(done.source, done.boundary);
        } catch (const std::exception& e) {
            log().severe("A callback failed: {}", e.what());
        }
    }
}

void Switcher::drop(int index) noexcept {
    Entry& entry = entries_[static_cast<std::size_t>(index)];
    if (entry.gone) return;
    entry.gone = true;
    log().info("Finished with {}.", entry.child.source->id());
    {
        std::lock_guard lock(selected_mutex_);
        std::erase(queue_, entry.child.source);
    }
    const std::weak_ptr<Source> self = weak_from_this();
    const std::weak_ptr<Source> source = entry.child.source;
    clock()->run_between_ticks([self, source] {
        const SourcePtr switcher = self.lock(), input = source.lock();
        if (switcher && input) static_cast<Switcher&>(*switcher).remove_input(*input);
    });
}

// --- Streaming -----------------------------------------------------------------------------------------------------

bool Switcher::can_generate() noexcept {
    begin();
    return decide(current_ < 0 || !streamed().ready());
}

void Switcher::generate(Frame& out, Ticks wanted) noexcept {
    bool decided = false;  // whether to go on with the current one at the mark where we stand
    // Each turn streams something or ends with the current one; without progress an input gets one try a tick.
    for (std::size_t idle = 0; out.length() < wanted && current_ >= 0 && idle <= 2 * entries_.size();) {
        Source& source = streamed();
        static const Frame nothing;
        const Frame& frame = source.ready() ? source.peek_frame() : nothing;
        const Ticks from = used();
        if (frame.length() <= from) {
            ++idle;
            const int before = current_;
            if (!decide(true)) break;
            if (current_ == before && !has_data(entries_[static_cast<std::size_t>(current_)])) break;
            decided = true;
            continue;
        }
        Ticks to = std::min(frame.length(), from + (wanted - out.length()));
        bool at_mark = false;
        for (const Ticks mark : frame.track_marks()) {
            if (mark >= to) break;
            if (mark > from || (mark == from && !fresh_ && !decided)) {
                to = mark;
                at_mark = true;
                break;
            }
        }
        if (to > from) {
            const std::size_t marks = out.track_marks().size(), metadata = out.metadata().size();
            const Ticks at = out.length();
            out.append(frame, from, to);
            source.consume(to);
            used() = to;
            idle = 0;
            decided = false;
            auto& track_marks = out.track_marks();
            if (fresh_) {
                fresh_ = false;
                const bool has_mark = track_marks.size() > marks && track_marks[marks] == at;
                const bool has_metadata = out.metadata().size() > metadata && out.metadata()[metadata].position == at;
                if (!has_mark && !has_metadata && replayed_) out.metadata().insert(out.metadata().begin() + static_cast<std::ptrdiff_t>(metadata), {at, replayed_});
                if (!has_mark) track_marks.insert(track_marks.begin() + static_cast<std::ptrdiff_t>(marks), at);
                if (merged_) track_marks.erase(track_marks.begin() + static_cast<std::ptrdiff_t>(marks));
                replayed_.reset();
                ++entries_[static_cast<std::size_t>(current_)].tracks;
            } else if (track_marks.size() > marks) {
                ++entries_[static_cast<std::size_t>(current_)].tracks;
            }
        }
        if (at_mark) {
            if (!decide(true)) break;
            decided = true;
        }
    }
}

void Switcher::on_sleep() noexcept {
    if (current_ >= 0) leave(true);
    left_.clear();
}

}  // namespace castile
