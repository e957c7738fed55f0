#pragma once
// Connections between ports that a script asked for: made once both sides are there, and again when a server comes back.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "devices/jack_client.h"

namespace castile::devices {

struct JackLink {
    /// Names of ports; empty: they are not there yet. Called on the blocking pool; may be the script's.
    using Ports = std::function<std::vector<std::string>()>;
    std::weak_ptr<JackClient> owner;   ///< the link goes with it
    Ports outputs, inputs;             ///< sound goes from outputs to inputs
    bool done = false, refused = false;
    std::string told;                  ///< the last failure, said once
};

/// One port on a side is connected with all of the other, else as many must be on both, and they are connected in order.
/// Throws Error: the counts do not match.
std::vector<std::pair<std::string, std::string>> pair_ports(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs);

}  // namespace castile::devices
