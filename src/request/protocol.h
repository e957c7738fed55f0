#pragma once
// Protocols: what resolves `name:rest`. A table; registered by protocols/ and by scripts.

#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "frame/metadata.h"

namespace castile {

/// What a protocol found. Blocking; any thread.
struct ProtocolResult {
    std::vector<std::string> uris;  ///< to try next, in order; a path is a URI
    bool temporary = false;         ///< the file is ours to delete
    Metadata metadata;              ///< adds to the request's
};
using ProtocolFunction = std::function<std::expected<ProtocolResult, Failure>(const std::string& rest, double timeout_seconds)>;

struct Protocol {
    std::string name, doc, syntax;
    ProtocolFunction function;
    /// Does the URI always lead to the same file, so that it can be fetched once for all?
    std::function<bool(const std::string& rest)> is_static;   ///< empty: no
};

class RegisterProtocol {
public:
    RegisterProtocol(std::string name, std::string doc, std::string syntax, ProtocolFunction function,
                     std::function<bool(const std::string& rest)> is_static = {});
};

/// Any thread; a second one of a name replaces the first (protocol.add).
void add_protocol(Protocol protocol);
std::optional<Protocol> find_protocol(std::string_view name);
std::vector<Protocol> all_protocols();

/// "name" and "rest" of "name:rest"; nullopt when the text before the first colon cannot be a protocol's name.
std::optional<std::pair<std::string, std::string>> split_uri(std::string_view uri);
/// A text with %20 and the like replaced.
std::string percent_decoded(std::string_view text);
/// A path as the system takes it: `file:` removed, `~` replaced by the home folder.
std::string local_path(std::string_view uri);
/// Can it be fetched once for all: an existing file, or a protocol that says so?
bool is_static_uri(const std::string& uri);

}  // namespace castile
