#pragma once

#include <string>

namespace castile::protocols {

/// The shell command for Amazon's services, as settings.protocol.aws says; a service and its arguments follow.
std::string amazon_command();

}  // namespace castile::protocols
