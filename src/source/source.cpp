#include "source/source.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "clock/clock_error.h"
#include "sched/scheduler.h"
#include "source/output.h"

namespace castile {

/// Every live source, and the names in use.
class SourceRegistry {
public:
    static SourceRegistry& get() {
        static SourceRegistry* registry = new SourceRegistry;  // outlives every static source
        return *registry;
    }

    std::string add(Source* source, const std::string& wanted) {
        std::lock_guard lock(sources_mutex_);
        sources_.insert(source);
        return unique(wanted);
    }
    std::string rename(const std::string& from, const std::string& wanted) {
        std::lock_guard lock(sources_mutex_);
        release(from);
        return unique(wanted);
    }
    void remove(Source* source) noexcept {
        std::lock_guard lock(sources_mutex_);
        sources_.erase(source);
        release(source->id_);
    }
    std::vector<SourcePtr> all() {
        std::vector<SourcePtr> all;
        std::lock_guard lock(sources_mutex_);
        for (Source* source : sources_)
            if (SourcePtr s = source->weak_from_this().lock()) all.push_back(std::move(s));
        return all;
    }
    static std::vector<ClockMember> describe(Clock& clock);

private:
    SourceRegistry() { set_clock_describer(describe); }

    // "radio", then "radio.1": the smallest number that is free, so that names of short-lived sources come back.
    std::string unique(const std::string& wanted) {
        if (names_.insert(wanted).second) return wanted;
        int& hint = hints_.try_emplace(wanted, 1).first->second;
        for (;; ++hint)
            if (std::string name = fmt::format("{}.{}", wanted, hint); names_.insert(name).second) return name;
    }
    void release(const std::string& name) {
        names_.erase(name);
        if (const auto dot = name.rfind('.'); dot != std::string::npos) hints_.erase(name.substr(0, dot));
    }

    std::mutex sources_mutex_;  // guards everything below
    std::set<Source*> sources_;
    std::set<std::string> names_;
    std::map<std::string, int> hints_;
};

struct Source::Watchers {
    std::vector<MetadataHandler> metadata, track;
    std::vector<TimingHandler> timing;
    std::vector<std::function<void()>> frame, wake_up, sleep;
};

struct Source::Inserted {
    MetadataPtr metadata;
    bool new_track, replace;
};

namespace {

const MetadataPtr& empty_metadata() {
    static const MetadataPtr empty = std::make_shared<const Metadata>();
    return empty;
}

template <class... A>
void call_all(const Logger& log, const std::vector<std::function<void(A...)>>& handlers, std::type_identity_t<A>... arguments) noexcept {
    for (const auto& handler : handlers) {
        try {
            handler(arguments...);
        } catch (const std::exception& e) {
            log.severe("A callback failed: {}", e.what());
        } catch (...) {
            log.severe("A callback failed.");
        }
    }
}

}  // namespace

Source::Source(std::string operator_name)
    : operator_name_(std::move(operator_name)),
      id_(SourceRegistry::get().add(this, operator_name_)),
      log_(id_),
      clock_(Clock::create()),
      content_(make_content()),
      watchers_(std::make_unique<Watchers>()) {}

Source::~Source() { SourceRegistry::get().remove(this); }

void Source::set_id(std::string id) {
    if (id == id_) return;
    id_ = SourceRegistry::get().rename(id_, id);
    log_ = Logger(id_);
}

// --- The tick ------------------------------------------------------------------------------------------------------

void Source::begin_tick() noexcept {
    const std::int64_t now = clock_->tick_count();
    if (now == tick_) return;
    tick_ = now;
    if (!made_) return;
    made_ = false;
    if (consumed_ < frame_.length()) {  // kept_ is empty: make() used it up
        std::swap(frame_, kept_);
        kept_.drop_front(consumed_);
    }
    frame_.reset();
    consumed_ = {};
}

bool Source::ready() noexcept {
    begin_tick();
    const bool now = made_ ? frame_.length().count > 0 : kept_.length().count > 0 || can_generate();
    was_ready_.store(now, std::memory_order_relaxed);
    return now;
}

const Frame& Source::peek_frame() noexcept {
    begin_tick();
    if (!made_) make();
    return frame_;
}

const Frame& Source::frame() noexcept {
    peek_frame();
    consumed_ = frame_.length();
    return frame_;
}

void Source::consume(Ticks count) noexcept { consumed_ = std::max(consumed_, std::min(count, frame_.length())); }

void Source::make() noexcept {
    made_ = true;
    consumed_ = {};
    const Ticks wanted = stream_parameters().frame_size;
    if (kept_.length().count == 0) {
        if (!can_generate()) return;
        generate_into(frame_, wanted);
        return;
    }
    std::swap(frame_, kept_);
    kept_.reset();
    const Ticks missing = wanted - frame_.length();
    if (missing.count <= 0 || !can_generate()) return;
    more_.reset();
    generate_into(more_, missing);
    frame_.append(more_, {}, more_.length());
}

void Source::generate_into(Frame& fresh, Ticks wanted) noexcept {
    if (!timed_) {
        generate(fresh, wanted);
    } else {
        const TimeSource& time = scheduler().time();
        const Instant begun = time.now();
        generate(fresh, wanted);
        call_all<Instant, Instant, Ticks>(log_, watchers_->timing, begun, time.now(), fresh.length());
    }
    if (has_inserted_.load(std::memory_order_acquire)) add_inserted(fresh);
    run_watchers(fresh);
}

void Source::add_inserted(Frame& fresh) noexcept {
    if (fresh.length().count == 0) return;  // it waits for a frame that goes out
    std::vector<Inserted> inserted;
    {
        std::lock_guard lock(metadata_mutex_);
        inserted.swap(inserted_);
        has_inserted_.store(false, std::memory_order_relaxed);
    }
    auto& metadata = fresh.metadata();
    auto& marks = fresh.track_marks();
    for (Inserted& next : inserted) {
        const auto first = std::find_if(metadata.begin(), metadata.end(), [](const FrameMetadata& m) { return m.position.count == 0; });
        if (first == metadata.end())
            metadata.insert(metadata.begin(), {Ticks{}, std::move(next.metadata)});
        else if (next.replace)
            first->metadata = std::move(next.metadata);
        if (next.new_track && (marks.empty() || marks.front().count != 0)) marks.insert(marks.begin(), Ticks{});
    }
}

void Source::run_watchers(const Frame& fresh) noexcept {
    const auto& marks = fresh.track_marks();
    const auto& metadata = fresh.metadata();
    const std::int64_t elapsed = elapsed_.load(std::memory_order_relaxed);
    if (elapsed >= 0) elapsed_.store(elapsed + fresh.length().count, std::memory_order_relaxed);
    std::size_t m = 0;
    const auto give_metadata = [&](const FrameMetadata& given) {
        {
            std::lock_guard lock(metadata_mutex_);
            last_metadata_ = given.metadata;
        }
        call_all<const MetadataPtr&>(log_, watchers_->metadata, given.metadata);
    };
    for (const Ticks mark : marks) {
        for (; m < metadata.size() && metadata[m].position < mark; ++m) give_metadata(metadata[m]);
        elapsed_.store((fresh.length() - mark).count, std::memory_order_relaxed);
        const bool has_metadata = m < metadata.size() && metadata[m].position == mark;
        if (!has_metadata) clear_last_metadata();
        call_all<const MetadataPtr&>(log_, watchers_->track, has_metadata ? metadata[m].metadata : empty_metadata());
    }
    for (; m < metadata.size(); ++m) give_metadata(metadata[m]);
    if (framed_) call_all<>(log_, watchers_->frame);
}

// --- Life ----------------------------------------------------------------------------------------------------------

namespace {
// Of all sources: waking and asking who did are rare.
std::mutex& activators_mutex() {
    static auto* mutex = new std::mutex;
    return *mutex;
}
}  // namespace

std::vector<std::string> Source::activator_ids() const {
    std::lock_guard lock(activators_mutex());
    std::vector<std::string> ids;
    for (const Source* activator : activators_)
        if (activator) ids.push_back(activator->id_);
    return ids;
}

void Source::wake_up(Source* activator) {
    {
        std::lock_guard lock(activators_mutex());
        activators_.push_back(activator);
    }
    if (activations_++ > 0) return;
    std::size_t woken = 0;
    try {
        for (; woken < inputs_.size(); ++woken) inputs_[woken]->wake_up(this);
        formats_.clear();
        on_wake_up();
    } catch (...) {
        while (woken > 0) inputs_[--woken]->sleep(this);
        --activations_;
        std::lock_guard lock(activators_mutex());
        activators_.pop_back();
        throw;
    }
    call_all<>(log_, watchers_->wake_up);
}

void Source::sleep(Source* activator) noexcept {
    {
        std::lock_guard lock(activators_mutex());
        const auto found = std::find(activators_.begin(), activators_.end(), activator);
        if (found == activators_.end()) return;
        activators_.erase(found);
    }
    if (--activations_ > 0) return;
    on_sleep();
    call_all<>(log_, watchers_->sleep);
    frame_.reset();
    kept_.reset();
    made_ = false;
    consumed_ = {};
    for (const SourcePtr& input : inputs_) input->sleep(this);
}

void Source::add_input(SourcePtr input, bool same_content) {
    join_clock(clock_, *input);
    if (same_content) unify_content(content_, input->content_);
    if (awake()) input->wake_up(this);
    inputs_.push_back(std::move(input));
}

void Source::join_clock(const ClockPtr& clock, const Source& input) {
    try {
        Clock::unify(clock, input.clock_);
    } catch (const ClockError& e) {
        const auto named = [](const Source& source) {
            return source.position_.empty() ? source.id_ : fmt::format("{} ({})", source.id_, source.position_);
        };
        throw ClockError(e.code(), fmt::format("{} {} reads {}. Put a buffer between them: buffer(id=\"{}.buffer\", s)", e.what(), named(*this), named(input), input.id_),
                         input.position_);
    }
}

void Source::remove_input(const Source& input) {
    const auto found = std::find_if(inputs_.begin(), inputs_.end(), [&](const SourcePtr& i) { return i.get() == &input; });
    if (found == inputs_.end()) return;
    const SourcePtr removed = std::move(*found);
    inputs_.erase(found);
    if (awake()) removed->sleep(this);
}

// --- What paces it ---------------------------------------------------------------------------------------------------

void Source::add_sync_uses(SyncUses& uses) noexcept {
    if (SyncSource* own = sync_source()) {
        uses.push_back({own, &id_, &position_});
        return;
    }
    for (const SourcePtr& input : inputs_)
        if (input->awake()) input->add_sync_uses(uses);
}

bool Source::self_sync() noexcept {
    SyncUses uses;
    add_sync_uses(uses);
    return !uses.empty();
}

bool Source::may_self_sync() const noexcept {
    return std::any_of(inputs_.begin(), inputs_.end(), [](const SourcePtr& input) { return input->may_self_sync(); });
}

bool Source::may_run_ahead() const noexcept {
    return !live() && std::all_of(inputs_.begin(), inputs_.end(), [](const SourcePtr& input) { return input->may_run_ahead(); });
}

// --- Queries, watchers ---------------------------------------------------------------------------------------------

std::optional<double> Source::elapsed() const noexcept {
    const std::int64_t elapsed = elapsed_.load(std::memory_order_relaxed);
    if (elapsed < 0) return std::nullopt;
    return to_seconds(Ticks{elapsed});
}

MetadataPtr Source::last_metadata() const noexcept {
    std::lock_guard lock(metadata_mutex_);
    return last_metadata_;
}

void Source::clear_last_metadata() noexcept {
    std::lock_guard lock(metadata_mutex_);
    last_metadata_ = nullptr;
}

void Source::on_metadata(MetadataHandler f) { watchers_->metadata.push_back(std::move(f)); }
void Source::on_track(MetadataHandler f) { watchers_->track.push_back(std::move(f)); }
void Source::on_frame(std::function<void()> f) {
    watchers_->frame.push_back(std::move(f));
    framed_ = true;
}
void Source::on_timing(TimingHandler f) {
    watchers_->timing.push_back(std::move(f));
    timed_ = true;
}
void Source::on_wake_up_do(std::function<void()> f) { watchers_->wake_up.push_back(std::move(f)); }
void Source::on_sleep_do(std::function<void()> f) { watchers_->sleep.push_back(std::move(f)); }

void Source::insert_metadata_next(MetadataPtr m, bool new_track, bool replace) {
    std::lock_guard lock(metadata_mutex_);
    inserted_.push_back({std::move(m), new_track, replace});
    has_inserted_.store(true, std::memory_order_release);
}

const ContentFormat& Source::cached_format(Name field) const noexcept {
    for (const auto& [name, format] : formats_)
        if (name == field) return format;
    return formats_.emplace_back(field, content_format(content_, field)).second;
}

int Source::pcm_channels() const noexcept {
    static const Name audio{"audio"};  // interned once: a tick takes no lock for a name
    return cached_format(audio).channels;
}

int Source::pcm_channels(Name field) const noexcept { return cached_format(field).channels; }

std::vector<SourcePtr> all_sources() { return SourceRegistry::get().all(); }

std::vector<ClockMember> SourceRegistry::describe(Clock& clock) {
    std::vector<ClockMember> members;
    for (const SourcePtr& source : all_sources()) {
        if (source->clock().get() != &clock) continue;
        const bool output = dynamic_cast<Output*>(source.get()) != nullptr, active = dynamic_cast<Active*>(source.get()) != nullptr;
        ClockMember member{output ? ClockMember::Kind::output : active ? ClockMember::Kind::active : ClockMember::Kind::passive, source->id(), {}};
        member.activators = source->activator_ids();
        members.push_back(std::move(member));
    }
    std::sort(members.begin(), members.end(), [](const ClockMember& a, const ClockMember& b) { return a.id < b.id; });
    return members;
}

}  // namespace castile
