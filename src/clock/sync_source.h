#pragma once
// What paces clocks other than the computer's own: a sound card, a protocol with time stamps.

#include <string>
#include <vector>

#include "sched/time.h"

namespace castile {

/// Two sources that are paced by the same thing (one sound server, one connection) name the same object: a clock can follow
/// one of these, not two. Made before its first use, on any thread; asked on the clock's worker.
class SyncSource {
public:
    SyncSource() noexcept;
    virtual ~SyncSource();
    SyncSource(const SyncSource&) = delete;

    virtual const std::string& name() const noexcept = 0;   ///< "alsa", as the log and errors have it
    /// true: it paces by blocking in the tick, so the clock runs on a thread of its own. false: due() says when.
    virtual bool blocks() const noexcept { return true; }
    /// When it will want (or have) the next frame; after that a tick moves it forward. For those that do not block.
    virtual Instant due(Instant now) noexcept { return now; }

    static bool any() noexcept;   ///< Is there one at all? Most programs have none, and a tick then looks no further.
};

/// What paces a clock in a tick, and for whom. Valid within the tick.
struct SyncUse {
    SyncSource* source;
    const std::string* id;         ///< the source's
    const std::string* position;   ///< where the script made it: "script.liq, line 3"; may be empty
};
using SyncUses = std::vector<SyncUse>;

}  // namespace castile
