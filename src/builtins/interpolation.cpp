// Patterns filled in with metadata: `"$(artist) - $(title)" % metadata`.

#include <string_view>

#include "builtins/define.h"

namespace castile::builtins {

namespace {

std::string label_value(const Value& metadata, std::string_view label) {
    for (const Value& e : metadata.elements())
        if (e.elements()[0].as_string() == label) return e.elements()[1].as_string();
    return "";
}

/// What a pattern is made of, read from a place in it: each function moves on, or says no and leaves the place as it was.
class PatternReader {
public:
    PatternReader(std::string_view pattern, std::size_t at) : pattern_(pattern), at_(at) {}
    std::size_t at() const { return at_; }

    bool take(std::string_view s) {
        if (!pattern_.substr(at_).starts_with(s)) return false;
        at_ += s.size();
        return true;
    }
    void blanks() {
        while (take(" ")) {}
    }
    /// $(label)
    std::optional<std::string_view> variable() {
        if (!pattern_.substr(at_).starts_with("$(")) return std::nullopt;
        const std::size_t start = at_ + 2, end = pattern_.find_first_of("()$", start);
        if (end == pattern_.npos || end == start || pattern_[end] != ')') return std::nullopt;
        at_ = end + 1;
        return pattern_.substr(start, end - start);
    }
    /// "text", where \c is c
    std::optional<std::string> quoted() {
        if (!pattern_.substr(at_).starts_with('"')) return std::nullopt;
        std::string out;
        for (std::size_t i = at_ + 1; i < pattern_.size(); ++i) {
            if (pattern_[i] == '"') {
                at_ = i + 1;
                return out;
            }
            if (pattern_[i] == '\\' && i + 1 < pattern_.size()) ++i;
            out += pattern_[i];
        }
        return std::nullopt;
    }

private:
    std::string_view pattern_;
    std::size_t at_;
};

/// $(if $(label),"then","else"), the last part optional; its end and what it stands for.
std::optional<std::pair<std::size_t, std::string>> condition(std::string_view pattern, std::size_t at, const Value& metadata) {
    PatternReader reader(pattern, at);
    if (!reader.take("$(if ")) return std::nullopt;
    reader.blanks();
    const auto label = reader.variable();
    if (!label) return std::nullopt;
    std::string branches[2];
    for (int i = 0; i < 2; ++i) {
        reader.blanks();
        if (!reader.take(",")) {
            if (i == 0) return std::nullopt;
            break;
        }
        reader.blanks();
        auto branch = reader.quoted();
        if (!branch) return std::nullopt;
        branches[i] = std::move(*branch);
    }
    if (!reader.take(")")) return std::nullopt;
    return std::pair(reader.at(), branches[label_value(metadata, *label).empty()]);
}

/// Replaces each $(label) by the metadata of that label, and each condition by the branch it takes, which may hold more of them.
std::string interpolated(std::string pattern, const Value& metadata) {
    for (std::size_t i = 0; (i = pattern.find("$(if ", i)) != pattern.npos;) {
        if (auto taken = condition(pattern, i, metadata)) pattern.replace(i, taken->first - i, taken->second);
        else ++i;
    }
    std::string out;
    for (std::size_t i = 0; i < pattern.size();) {
        const bool escaped = pattern[i] == '\\';
        PatternReader reader(pattern, i + escaped);
        const auto label = reader.variable();
        if (!label) {
            out += pattern[i++];
            continue;
        }
        out += escaped ? "$(" + std::string(*label) + ")" : label_value(metadata, *label);
        i = reader.at();
    }
    return out;
}

const Definitions definitions("String", {
    {"%", "A pattern with each $(label) replaced by its metadata; $(if $(label),\"a\",\"b\") is a where there is such a label, else b.", {pos("string", "Pattern."), pos("[string * string]", "Metadata.")}, "string", [](const BuiltinArgs& a) {
        return text(interpolated(a[0].as_string(), a[1])); }},
});

}  // namespace

}  // namespace castile::builtins
