// XSPF, ASX, SMIL and podcast feeds: whatever XML names media.

#include <algorithm>
#include <cctype>

#include <pugixml.hpp>

#include "request/playlist.h"
#include "request/protocol.h"

namespace castile {

namespace {

constexpr int max_depth = 64;

std::string lower_name(const char* name) {
    std::string lower(name);
    if (const std::size_t colon = lower.find(':'); colon != std::string::npos) lower.erase(0, colon + 1);
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return lower;
}

std::string attribute(const pugi::xml_node& node, std::string_view wanted) {
    for (const pugi::xml_attribute& a : node.attributes())
        if (lower_name(a.name()) == wanted) return a.value();
    return {};
}

std::string child_text(const pugi::xml_node& node, std::string_view wanted) {
    for (const pugi::xml_node& child : node.children())
        if (lower_name(child.name()) == wanted) return child.child_value();
    return {};
}

std::string resolved(const std::string& base, const std::string& uri) {
    if (uri.empty() || uri.front() == '/' || split_uri(uri) || base.empty()) return local_path(uri);
    return base + (base.ends_with('/') ? "" : "/") + uri;
}

class Reader {
public:
    Reader(Playlist& list, const std::string& base) : list_(list), base_(base) {}

    void walk(const pugi::xml_node& node, int depth) {
        for (const pugi::xml_node& child : node.children()) {
            if (list_.size() >= max_playlist_entries) return;
            const std::string name = lower_name(child.name());
            if (name == "track") xspf(child);
            else if (name == "entry") asx(child);
            else if (name == "item") feed(child);
            else if (name == "audio" || name == "video" || name == "media") add({}, attribute(child, "src"));
            else if (depth < max_depth) walk(child, depth + 1);
        }
    }

private:
    void add(std::vector<Metadata::Entry> metadata, const std::string& uri) {
        if (uri.empty() || uri.size() > max_playlist_line) return;
        std::erase_if(metadata, [](const Metadata::Entry& entry) { return entry.second.empty(); });
        list_.push_back({std::move(metadata), resolved(base_, uri)});
    }

    void xspf(const pugi::xml_node& node) {
        add({{"artist", child_text(node, "creator")}, {"title", child_text(node, "title")}, {"album", child_text(node, "album")},
             {"tracknumber", child_text(node, "tracknum")}},
            child_text(node, "location"));
    }

    void asx(const pugi::xml_node& node) {
        std::string uri;
        for (const pugi::xml_node& child : node.children())
            if (uri.empty() && lower_name(child.name()) == "ref") uri = attribute(child, "href");
        add({{"artist", child_text(node, "author")}, {"title", child_text(node, "title")}}, uri);
    }

    void feed(const pugi::xml_node& node) {
        for (const pugi::xml_node& child : node.children())
            if (lower_name(child.name()) == "enclosure")
                return add({{"artist", child_text(node, "author")}, {"title", child_text(node, "title")}}, attribute(child, "url"));
    }

    Playlist& list_;
    const std::string& base_;
};

}  // namespace

Playlist parse_xml_playlist(std::string_view text, const std::string& base) {
    Playlist list;
    pugi::xml_document document;
    // What could be read before a mistake counts too: lists in the wild are seldom well-formed.
    document.load_buffer(text.data(), text.size());
    Reader(list, base).walk(document, 0);
    return list;
}

}  // namespace castile
