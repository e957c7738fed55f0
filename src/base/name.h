#pragma once
// Interned names: variables, labels, methods, fields. Two names are equal when their pointers are.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace castile {

/// An interned string. Any thread; interning takes a lock, comparing does not. Names live for the whole process.
class Name {
public:
    Name() noexcept = default;  ///< The empty name (an unlabelled argument).
    Name(std::string_view text);
    Name(const char* text) : Name(std::string_view(text)) {}
    Name(const std::string& text) : Name(std::string_view(text)) {}

    const std::string& str() const noexcept { return text_ ? *text_ : no_text(); }
    std::string_view view() const noexcept { return str(); }
    bool empty() const noexcept { return text_ == nullptr; }
    const void* key() const noexcept { return text_; }

    friend bool operator==(Name a, Name b) noexcept { return a.text_ == b.text_; }
    /// Alphabetical, so that printed records are stable.
    friend bool operator<(Name a, Name b) noexcept { return a.text_ != b.text_ && a.view() < b.view(); }

private:
    static const std::string& no_text() noexcept;

    const std::string* text_ = nullptr;   // null: empty
};

}  // namespace castile

template <>
struct std::hash<castile::Name> {
    std::size_t operator()(castile::Name name) const noexcept { return std::hash<const void*>{}(name.key()); }
};
