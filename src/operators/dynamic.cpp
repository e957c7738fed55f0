// source.dynamic: whatever source a function of the script names, while it streams.

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "lang/diag.h"
#include "operators/composition.h"
#include "script/callback.h"
#include "script/operator.h"
#include "script/source_methods.h"

namespace castile::operators {

namespace {

using lang::Value;
using script::Args;
using script::Category;

/// What paces a dynamic source that says so of itself: its sources wait in the tick.
class OwnPace final : public SyncSource {
public:
    const std::string& name() const noexcept override {
        static const std::string name = "source.dynamic";
        return name;
    }
};

class Dynamic;

/// The claim that `prepare` gives on a source: until the source was named with it, or nobody has it any more. Any thread.
class Activation {
public:
    Activation(const std::shared_ptr<Dynamic>& owner, SourcePtr source);
    ~Activation() { release(); }
    Activation(const Activation&) = delete;
    void release() noexcept;

private:
    const std::weak_ptr<Dynamic> owner_;
    const SourcePtr source_;
    std::atomic<bool> released_ = false;
};

class Dynamic final : public Source {
public:
    struct Options {
        bool infallible = false;
        std::optional<bool> self_sync;
        std::function<bool()> track_sensitive, merge;
        SourcePtr init;
    };

    Dynamic(Value next, Options options) : Source("source.dynamic"), next_(std::move(next)), options_(std::move(options)) {
        if (options_.self_sync == true) pace_.emplace();
        if (options_.init) unify_content(content(), options_.init->content());
    }

    bool fallible() const noexcept override { return !options_.infallible; }
    bool live() const noexcept override {
        const SourcePtr source = current();
        return source && source->live();
    }
    std::optional<Ticks> remaining() noexcept override {
        const SourcePtr source = current();
        return source ? source->remaining() : std::nullopt;
    }
    Ticks seek(Ticks by) noexcept override {
        const SourcePtr source = current();
        return source ? source->seek(by) : Ticks{};
    }
    void skip() noexcept override {
        if (const SourcePtr source = current()) source->skip();
    }
    Source* effective_source() noexcept override {
        const SourcePtr source = current();
        return source ? source->effective_source() : this;
    }
    SyncSource* sync_source() noexcept override { return pace_ ? &*pace_ : nullptr; }
    void add_sync_uses(SyncUses& uses) noexcept override {
        if (pace_) return Source::add_sync_uses(uses);
        if (options_.self_sync) return;
        if (const SourcePtr source = current()) source->add_sync_uses(uses);
    }
    /// What the function will name is not known.
    bool may_self_sync() const noexcept override { return options_.self_sync.value_or(true); }

    SourcePtr current() const {   ///< Any thread.
        std::lock_guard lock(shown_mutex_);
        return shown_;
    }

    // A source that the function will name later is made ready for it. Each hold() needs its release().
    void check(const Source& source) {   ///< Any thread. Throws Error.
        if (&source == this) throw Error(fmt::format("{} cannot play itself.", id()));
        join_clock(clock(), source);
        unify_content(content(), source.content());
    }
    void hold(const SourcePtr& source) { add_input(source, true); }
    void release(const SourcePtr& source) noexcept {
        const bool input = std::find(inputs().begin(), inputs().end(), source) != inputs().end();
        if (input) remove_input(*source);
    }

protected:
    void on_wake_up() override {
        if (!current_ && options_.init) switch_to(options_.init);
        choose();
    }

    void on_sleep() noexcept override {
        if (current_) left_.push_back({std::exchange(current_, nullptr), {}});
        show();
        for (const Left& left : std::exchange(left_, {})) {
            remove_input(*left.source);
            left.source->sleep(this);   // as its inputs are, but these we keep no longer
        }
    }

    bool can_generate() noexcept override {
        if (const std::int64_t now = clock()->tick_count(); now != tick_) {
            tick_ = now;
            used_ = {};
            if (!current_ || !options_.track_sensitive() || !current_->ready()) choose();
        }
        if (has_more()) return true;
        if (options_.infallible && !std::exchange(failing_, true))
            log().severe("This source is said to be infallible, but {} is not ready. Name sources that never fail, or leave `infallible` out.",
                         current_ ? current_->id() : "its source");
        return false;
    }

    void generate(Frame& out, Ticks wanted) noexcept override {
        failing_ = false;
        bool asked = false;   // what comes after the mark where we stand
        begins_ = false;
        while (out.length() < wanted && current_) {
            if (!has_more()) {
                choose();
                if (!has_more()) break;
                asked = begins_ = true;
            }
            const Frame& frame = current_->peek_frame();
            const Ticks from = used_;
            Ticks to = std::min(frame.length(), from + (wanted - out.length()));
            bool at_mark = false;
            for (const Ticks mark : frame.track_marks()) {
                if (mark >= to) break;
                if (mark < from || (mark == from && (fresh_ || asked))) continue;
                to = mark;
                at_mark = true;
                break;
            }
            if (to > from) {
                take(out, frame, from, to);
                asked = false;
            } else if (!at_mark) {
                break;
            }
            if (at_mark) {
                choose();
                if (!has_more()) break;
                asked = begins_ = true;
            }
        }
    }

private:
    // A source that is left stays awake until the end of the tick: somebody may read it, or we may come back to it.
    struct Left {
        SourcePtr source;
        Ticks used;
    };

    bool has_more() noexcept { return current_ && current_->ready() && (used_.count == 0 || current_->peek_frame().length() > used_); }

    void take(Frame& out, const Frame& frame, Ticks from, Ticks to) noexcept {
        auto& marks = out.track_marks();
        const std::size_t before = marks.size();
        const Ticks at = out.length();
        out.append(frame, from, to);
        current_->consume(to);
        used_ = to;
        const bool marked = marks.size() > before && marks[before] == at;
        // What comes after a track is one; what is switched to in the middle of one may go on with its own.
        if (std::exchange(fresh_, false) && begins_ && !marked) marks.insert(marks.begin() + static_cast<std::ptrdiff_t>(before), at);
        if (marks.size() > before && options_.merge()) marks.resize(before);
    }

    // Asks the function; null, or what it named before, goes on.
    void choose() noexcept {
        try {
            const Value named = next_.call();
            if (named.is_null()) {
                told_ = false;
                return;
            }
            const SourcePtr source = script::source_from_value(named);
            if (source != current_) switch_to(source);
            // It was held for us, and from here on we hold it ourselves.
            if (const Value* claim = named.own_method("activation"); claim && !claim->is_null()) claim->as_foreign<Activation>()->release();
            told_ = false;
        } catch (...) {
            if (!std::exchange(told_, true)) script::log_script_error("source.dynamic");
        }
    }

    bool read_by(const Source& source) const {
        return &source == this || std::any_of(source.inputs().begin(), source.inputs().end(), [this](const SourcePtr& input) { return read_by(*input); });
    }

    void switch_to(const SourcePtr& source) {
        if (read_by(*source)) throw Error(fmt::format("{} cannot play {}, which reads it.", id(), source->id()));
        add_input(source, true);
        log().info("Switching to source {}.", source->id());
        if (current_) {
            left_.push_back({current_, used_});
            clock()->run_between_ticks([weak = weak_from_this()] {
                if (const auto self = std::static_pointer_cast<Dynamic>(weak.lock()))
                    for (const Left& left : std::exchange(self->left_, {})) self->remove_input(*left.source);
            });
        }
        const auto again = std::find_if(left_.rbegin(), left_.rend(), [&](const Left& left) { return left.source == source; });
        used_ = again == left_.rend() ? Ticks{} : again->used;
        current_ = source;
        fresh_ = true;
        show();
    }

    void show() noexcept {
        std::lock_guard lock(shown_mutex_);
        shown_ = current_;
    }

    const Value next_;
    const Options options_;
    std::optional<OwnPace> pace_;
    SourcePtr current_;
    std::vector<Left> left_;
    Ticks used_;                        ///< of the current one's frame in this tick
    std::int64_t tick_ = -1;            ///< when it was last chosen
    bool fresh_ = false;                ///< nothing of the current one was streamed yet
    bool begins_ = false;               ///< it was chosen at the end of a track
    bool told_ = false, failing_ = false;
    mutable std::mutex shown_mutex_;    // guards shown_
    SourcePtr shown_;
};

Activation::Activation(const std::shared_ptr<Dynamic>& owner, SourcePtr source) : owner_(owner), source_(std::move(source)) {
    script::order(owner, [source = source_](Source& self) { static_cast<Dynamic&>(self).hold(source); });
}

void Activation::release() noexcept {
    if (released_.exchange(true)) return;
    if (const auto owner = owner_.lock()) script::order(owner, [source = source_](Source& self) { static_cast<Dynamic&>(self).release(source); });
}

const lang::ForeignKind activation_kind{"activation"};

Value current_source(const SourcePtr& source) {
    return Value::function([weak = std::weak_ptr(source)](std::span<const lang::CallArgument>) {
        const SourcePtr self = weak.lock();
        const SourcePtr current = self ? static_cast<Dynamic&>(*self).current() : nullptr;
        return current ? script::to_value(current) : Value::null();
    });
}

Value prepare(const SourcePtr& source) {
    return Value::function([weak = std::weak_ptr(source)](std::span<const lang::CallArgument> arguments) {
        const Value& later = arguments[0].value;
        const auto self = std::static_pointer_cast<Dynamic>(weak.lock());
        if (!self) return later.with_method("activation", Value::null());
        const SourcePtr prepared = script::source_from_value(later);
        try {
            self->check(*prepared);
        } catch (const Error& e) {
            throw lang::RuntimeError("eval", e.what());
        }
        return later.with_method("activation", Value::foreign(activation_kind, std::make_shared<Activation>(self, prepared)));
    });
}

SourcePtr build(Args& args) {
    enum : unsigned { infallible, init, merge, self_sync, track_sensitive, next };
    Dynamic::Options options{.infallible = args.boolean(infallible),
                             .track_sensitive = bool_getter(args.value(track_sensitive), false),
                             .merge = bool_getter(args.value(merge), false)};
    if (!args.is_null(self_sync)) options.self_sync = args.boolean(self_sync);
    if (!args.is_null(init)) options.init = args.source(init);
    return std::make_shared<Dynamic>(args.value(next), std::move(options));
}

const script::RegisterOperator dynamic{{
    .name = "source.dynamic",
    .category = Category::track,
    .doc = "Play the source that a function names, and ask the function again: at each frame, or at each new track only.",
    .params = {
        {"infallible", "bool", "false", "Promise that the function always names a source that is ready. Nobody checks that before it plays."},
        {"init", "source('a)?", "null", "The source to begin with."},
        {"merge", "{bool}", "false", "Make one track of all that comes."},
        {"self_sync", "bool?", "null", "Is it paced by something of its own? When `null`: when the source that plays is."},
        {"track_sensitive", "{bool}", "false", "Ask only at the end of a track?"},
        {"", "() -> (source('a).{activation? : activation})?", nullptr, "Names the source to play; `null`: the same as before."},
    },
    .result = "source('a)",
    .build = build,
    .methods = {{"current_source", "() -> source('a)?", "The source that plays.", current_source},
                {"prepare", "(source('a)) -> source('a).{activation : activation}",
                 "Make a source ready that the function will name later: what is given back, with its claim on the source.", prepare}},
}};

}  // namespace

}  // namespace castile::operators
