#pragma once
// The station page and the status of the mounts: "/", /api/status, /api/events, /status-json.xsl.

#include <memory>
#include <string>

#include "net/transport.h"

namespace castile {

/// Serves the page and the status on a port, for paths that nobody else handles. The routes go with the last token.
[[nodiscard]] std::shared_ptr<void> show_station(unsigned short port, const TransportPtr& transport);

/// What /api/status says; `port` 0 = all mounts.
std::string station_status_json(unsigned short port);
/// What /status-json.xsl says, in Icecast's form.
std::string icecast_status_json(unsigned short port, const std::string& host);

}  // namespace castile
