#include "request/protocol.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <mutex>

namespace castile {

namespace {

struct Table {
    std::mutex protocols_mutex;
    std::map<std::string, Protocol, std::less<>> protocols;
};

Table& table() {
    static Table* table = new Table;  // outlives every static
    return *table;
}

std::string home_of(const std::string& user) {
    if (user.empty())
        if (const char* home = std::getenv("HOME")) return home;
    passwd entry{}, *found = nullptr;
    char buffer[4096];
    if (user.empty()) getpwuid_r(geteuid(), &entry, buffer, sizeof buffer, &found);
    else getpwnam_r(user.c_str(), &entry, buffer, sizeof buffer, &found);
    return found ? found->pw_dir : "";
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool exists(const std::string& path) { return !path.empty() && access(path.c_str(), F_OK) == 0; }

}  // namespace

RegisterProtocol::RegisterProtocol(std::string name, std::string doc, std::string syntax, ProtocolFunction function,
                                   std::function<bool(const std::string& rest)> is_static) {
    add_protocol({std::move(name), std::move(doc), std::move(syntax), std::move(function), std::move(is_static)});
}

void add_protocol(Protocol protocol) {
    std::lock_guard lock(table().protocols_mutex);
    const std::string name = protocol.name;
    table().protocols.insert_or_assign(name, std::move(protocol));
}

std::optional<Protocol> find_protocol(std::string_view name) {
    std::lock_guard lock(table().protocols_mutex);
    const auto found = table().protocols.find(name);
    if (found == table().protocols.end()) return std::nullopt;
    return found->second;
}

std::vector<Protocol> all_protocols() {
    std::lock_guard lock(table().protocols_mutex);
    std::vector<Protocol> all;
    for (const auto& [name, protocol] : table().protocols) all.push_back(protocol);
    return all;
}

std::optional<std::pair<std::string, std::string>> split_uri(std::string_view uri) {
    const std::size_t colon = uri.find(':');
    if (colon == std::string_view::npos || colon == 0 || colon > 64) return std::nullopt;
    const std::string_view name = uri.substr(0, colon);
    const bool valid = std::ranges::all_of(name, [](unsigned char c) {
        return std::isalnum(c) || c == '_' || c == '-' || c == '.' || c == '+';
    });
    if (!valid) return std::nullopt;
    return std::pair(std::string(name), std::string(uri.substr(colon + 1)));
}

std::string percent_decoded(std::string_view text) {
    std::string decoded;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0) {
            decoded += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
            i += 2;
        } else {
            decoded += text[i];
        }
    }
    return decoded;
}

std::string local_path(std::string_view uri) {
    bool url = false;
    if (uri.starts_with("file://")) {
        uri.remove_prefix(7);
        url = true;
    }
    if (uri.starts_with("file:")) uri.remove_prefix(5);
    if (uri.starts_with('~')) {
        const std::size_t slash = std::min(uri.find('/'), uri.size());
        const std::string home = home_of(std::string(uri.substr(1, slash - 1)));
        if (!home.empty()) return home + std::string(uri.substr(slash));
    }
    std::string path(uri);
    if (url && !exists(path))
        if (std::string decoded = percent_decoded(uri); exists(decoded)) return decoded;
    return path;
}

bool is_static_uri(const std::string& uri) {
    if (exists(local_path(uri))) return true;
    const auto split = split_uri(uri);
    if (!split) return false;
    const auto protocol = find_protocol(split->first);
    return protocol && protocol->is_static && protocol->is_static(split->second);
}

}  // namespace castile
