#pragma once
// A track's metadata: an ordered list of label and value, UTF-8, immutable once shared.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace castile {

class Metadata {
public:
    using Entry = std::pair<std::string, std::string>;
    Metadata() = default;
    explicit Metadata(std::vector<Entry> entries) : entries_(std::move(entries)) {}

    const std::vector<Entry>& entries() const noexcept { return entries_; }
    const std::string* find(std::string_view label) const noexcept;          ///< nullptr when absent.
    std::string get(std::string_view label, std::string_view otherwise = "") const;
    void set(std::string_view label, std::string value);                      ///< Replaces or appends.
    void erase(std::string_view label);
    bool empty() const noexcept { return entries_.empty(); }
    friend bool operator==(const Metadata&, const Metadata&) = default;

private:
    std::vector<Entry> entries_;
};

using MetadataPtr = std::shared_ptr<const Metadata>;

/// As commands show it: a line `label="value"` each, quotes, backslashes and control characters escaped.
std::string metadata_text(const Metadata&);

/// What ICY and panels show: "artist - title", or the title, or the file's name without its extension; never empty.
std::string display_title(const Metadata&);

}  // namespace castile
