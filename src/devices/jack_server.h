#pragma once
// A JACK server by its name: what paces clocks, and what can be asked of it.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "clock/sync_source.h"
#include "devices/jack_library.h"

namespace castile::devices {

/// Lives as long as the process. Any thread.
class JackServer final : public SyncSource {
public:
    static JackServer& named(const std::optional<std::string>& name);   ///< null or "": the default one

    const std::string& name() const noexcept override { return description_; }   ///< "jack(default)"
    const std::string& server_name() const noexcept { return name_; }            ///< "default"

    /// Calls `f` with a client of this server: one that is open, or one for this call. Blocks. Throws Error.
    void ask(const std::function<void(const JackLibrary&, jack_client_t*)>& f);
    int sample_rate();
    int buffer_size();
    std::vector<std::string> ports(const std::string& pattern, const char* type, unsigned long flags);
    void connect(const std::string& output, const std::string& input);   ///< Not an error: they are connected already.

private:
    explicit JackServer(std::string name);
    const std::string name_, description_;
};

/// A name as a server takes it: short enough, without a colon.
std::string jack_name(const JackLibrary& library, std::string name);
/// Opens a client; no server is ever started. Throws Error. With the keeper's lock held (devices/jack_keeper.h).
jack_client_t* open_jack_client(const JackLibrary& library, const std::string& name, const JackServer& server);
/// Throws Error.
void connect_jack_ports(const JackLibrary& library, jack_client_t* client, const std::string& output, const std::string& input);

}  // namespace castile::devices
