#pragma once
// Script functions that watch a source: registered here, called by the source on its clock. Each returns the script's
// handle, a record with `release`.

#include "lang/value.h"
#include "script/callback.h"
#include "source/output.h"

namespace castile::script {

lang::Value watch_frames(const SourcePtr& source, Callback callback);
lang::Value watch_metadata(const SourcePtr& source, Callback callback);
lang::Value watch_tracks(const SourcePtr& source, Callback callback);
lang::Value watch_wake_up(const SourcePtr& source, Callback callback);
lang::Value watch_sleep(const SourcePtr& source, Callback callback);
lang::Value watch_start(Output& output, Callback callback);
lang::Value watch_stop(Output& output, Callback callback);

struct PositionWatch {
    lang::Value position;   ///< {float}, seconds
    bool remaining = false;
    bool allow_partial = false;
};
lang::Value watch_position(const SourcePtr& source, PositionWatch watch, Callback callback);

}  // namespace castile::script
