#include "script/watchers.h"

#include <algorithm>

#include "script/args.h"
#include "script/source_methods.h"

namespace castile::script {

namespace {

using lang::Value;

Value handle(const Callback& callback) {
    return Value::unit().with_method("release", Value::function([callback](std::span<const lang::CallArgument>) {
        callback.release();
        return Value::unit();
    }));
}

Source::MetadataHandler with_metadata(const Callback& callback) {
    return [callback](const MetadataPtr& m) { callback({{Name(), to_value(m)}}); };
}

// Where a position watch stands in the current track. The clock's worker only.
struct PositionState {
    PositionState(PositionWatch w, Callback c)
        : remaining(w.remaining), allow_partial(w.allow_partial), callback(std::move(c)),
          position(w.position.kind() == Value::Kind::function ? Getter<double>(w.position, 0.) : Getter<double>(value_as<double>(w.position))) {}

    const bool remaining, allow_partial;
    const Callback callback;
    const Getter<double> position;
    bool fired = true;          // until a track begins
    double last_elapsed = 0;
    MetadataPtr metadata;       // the last of the track

    void fire(double at) {
        fired = true;
        callback({{Name(), Value::floating(at)}, {Name(), to_value(metadata)}});
    }
    void track() {
        if (!fired && allow_partial) fire(remaining ? 0. : last_elapsed);
        fired = false;
        last_elapsed = 0;
        metadata = nullptr;
    }
    void frame(Source& source) {
        const double elapsed = source.elapsed().value_or(0);
        last_elapsed = elapsed;
        if (fired) return;
        metadata = source.last_metadata();
        if (!remaining) {
            if (elapsed >= position.get()) fire(elapsed);
        } else if (const auto left = source.remaining(); left && to_seconds(*left) <= position.get()) {
            fire(to_seconds(*left));
        }
    }
};

}  // namespace

Value watch_frames(const SourcePtr& source, Callback callback) {
    order(source, [callback](Source& s) { s.on_frame([callback] { callback(); }); });
    return handle(callback);
}

Value watch_metadata(const SourcePtr& source, Callback callback) {
    order(source, [callback](Source& s) { s.on_metadata(with_metadata(callback)); });
    return handle(callback);
}

Value watch_tracks(const SourcePtr& source, Callback callback) {
    order(source, [callback](Source& s) { s.on_track(with_metadata(callback)); });
    return handle(callback);
}

Value watch_wake_up(const SourcePtr& source, Callback callback) {
    order(source, [callback](Source& s) { s.on_wake_up_do([callback] { callback(); }); });
    return handle(callback);
}

Value watch_sleep(const SourcePtr& source, Callback callback) {
    order(source, [callback](Source& s) { s.on_sleep_do([callback] { callback(); }); });
    return handle(callback);
}

Value watch_start(Output& output, Callback callback) {
    order(output.shared_from_this(), [callback](Source& s) { static_cast<Output&>(s).on_start_do([callback] { callback(); }); });
    return handle(callback);
}

Value watch_stop(Output& output, Callback callback) {
    order(output.shared_from_this(), [callback](Source& s) { static_cast<Output&>(s).on_stop_do([callback] { callback(); }); });
    return handle(callback);
}

Value watch_position(const SourcePtr& source, PositionWatch watch, Callback callback) {
    auto state = std::make_shared<PositionState>(std::move(watch), callback);
    order(source, [state](Source& s) {
        s.on_track([state](const MetadataPtr&) { state->track(); });
        s.on_frame([state, &s] { state->frame(s); });
    });
    return handle(callback);
}

}  // namespace castile::script
