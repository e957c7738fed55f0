// Values as text, and their order.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lang/objects.h"
#include "lang/text.h"

namespace castile::lang {

namespace {

constexpr std::size_t longest_printed_string = 1 << 20;
constexpr std::size_t longest_text = 48u << 20;   // of a value: what shares its parts is small, but not its text

/// Length of the UTF-8 sequence at `pos`, 0 when it is not one.
std::size_t utf8_length(std::string_view s, std::size_t pos) {
    auto c = static_cast<unsigned char>(s[pos]);
    if (c < 0x80) return 1;
    std::size_t n = c >= 0xF0 && c < 0xF5 ? 4 : c >= 0xE0 ? 3 : c >= 0xC2 ? 2 : 0;
    if (c >= 0xF5 || n == 0 || pos + n > s.size()) return 0;
    for (std::size_t i = 1; i < n; ++i)
        if ((static_cast<unsigned char>(s[pos + i]) & 0xC0) != 0x80) return 0;
    auto d = static_cast<unsigned char>(s[pos + 1]);
    if ((c == 0xE0 && d < 0xA0) || (c == 0xED && d > 0x9F) || (c == 0xF0 && d < 0x90) || (c == 0xF4 && d > 0x8F)) return 0;
    return n;
}

void print(std::string& out, const Value& v, bool quote) {
    check_stack();
    if (out.size() > longest_text) throw RuntimeError("invalid", fmt::format("A value whose text has more than {} bytes is too large to be printed.", longest_text));
    using enum Value::Kind;
    auto sequence = [&](char open, char close) {
        out += open;
        bool first = true;
        for (const Value& e : v.elements()) {
            if (!std::exchange(first, false)) out += ", ";
            print(out, e, true);
        }
        out += close;
    };
    const MethodsObject* methods = ValueAccess::methods(v);
    switch (v.kind()) {
    case tuple:
        if (!methods || !v.elements().empty()) sequence('(', ')');
        break;
    case null: out += "null"; break;
    case boolean: out += v.as_bool() ? "true" : "false"; break;
    case integer: out += fmt::format("{}", v.as_int()); break;
    case floating: out += float_text(v.as_float()); break;
    case string:
        if (!quote && !methods) out += v.as_string();
        else if (v.as_string().size() > longest_printed_string || !valid_utf8(v.as_string())) out += "<string>";
        else out += quote_text(v.as_string());
        break;
    case list: sequence('[', ']'); break;
    case function: out += ValueAccess::function(v)->describe(); break;
    case foreign: {
        const ForeignKind& kind = *v.foreign_kind();
        out += kind.print ? kind.print(v.foreign_pointer().get()) : "<" + kind.name.str() + ">";
        break;
    }
    }
    if (!methods) return;
    MethodTable sorted = methods->methods;
    std::ranges::sort(sorted, [](const auto& a, const auto& b) { return a.first < b.first; });
    out += v.kind() == tuple && v.elements().empty() ? "{" : ".{";
    bool first = true;
    for (const auto& [name, value] : sorted) {
        if (!std::exchange(first, false)) out += ", ";
        out += name.str() + "=";
        print(out, value, true);
    }
    out += "}";
}

/// One list or tuple, seen twice.
bool same(const Value& a, const Value& b) {
    const auto &x = ValueAccess::bits(a), &y = ValueAccess::bits(b);
    return x.owns && y.owns && x.kind == y.kind && x.length == y.length && x.payload.object == y.payload.object;
}

template <class T> int order(const T& a, const T& b) { return a < b ? -1 : b < a ? 1 : 0; }

int compare_sequences(std::span<const Value> a, std::span<const Value> b) {
    for (std::size_t i = 0; i < a.size() && i < b.size(); ++i)
        if (int c = compare(a[i], b[i])) return c;
    return order(a.size(), b.size());
}

/// Records are compared by the fields that both have, in alphabetical order.
int compare_records(const Value& a, const Value& b) {
    MethodTable fields = a.own_methods();
    std::ranges::sort(fields, [](const auto& x, const auto& y) { return x.first < y.first; });
    for (const auto& [name, value] : fields)
        if (const Value* other = b.own_method(name))
            if (int c = compare(value, *other)) return c;
    return 0;
}

}  // namespace

bool valid_utf8(std::string_view s) noexcept {
    for (std::size_t i = 0; i < s.size();) {
        std::size_t n = utf8_length(s, i);
        if (n == 0) return false;
        i += n;
    }
    return true;
}

std::string float_text(double d) {
    if (std::isnan(d)) return "nan";
    if (std::isinf(d)) return d < 0 ? "-inf" : "inf";
    std::string s = fmt::format("{:.12g}", d);
    if (s.find_first_not_of("-0123456789") == std::string::npos) s += ".0";
    return s;
}

std::string quote_text(std::string_view s) {
    bool utf8 = valid_utf8(s);
    std::string out = "\"";
    for (std::size_t i = 0; i < s.size(); ++i) {
        auto c = static_cast<unsigned char>(s[i]);
        switch (c) {
        case '\b': out += "\\b"; continue;
        case '\n': out += "\\n"; continue;
        case '\r': out += "\\r"; continue;
        case '\t': out += "\\t"; continue;
        case '\\': out += "\\\\"; continue;
        case '"': out += "\\\""; continue;
        default: break;
        }
        if (utf8 && (c < 0x20 || c == 0x7F)) out += fmt::format("\\u{:04X}", c);
        else if (!utf8 && (c < 0x20 || c >= 0x7F)) out += fmt::format("\\x{:02X}", c);
        else out += static_cast<char>(c);
    }
    return out + "\"";
}

std::string to_string(const Value& value, bool quote_strings) {
    std::string out;
    print(out, value, quote_strings);
    return out;
}

int compare(const Value& a, const Value& b) {
    check_stack();
    using enum Value::Kind;
    if (a.is_null() || b.is_null()) return order(!a.is_null(), !b.is_null());
    if (same(a, b)) return 0;   // what shares its parts is compared in no time
    bool numbers = (a.kind() == integer || a.kind() == floating) && (b.kind() == integer || b.kind() == floating);
    if (numbers && a.kind() != b.kind()) return order(a.as_float(), b.as_float());
    if (a.kind() != b.kind()) return order(a.kind(), b.kind());
    switch (a.kind()) {
    case tuple:
        if (a.elements().empty() && b.elements().empty()) return compare_records(a, b);
        return compare_sequences(a.elements(), b.elements());
    case list: return compare_sequences(a.elements(), b.elements());
    case boolean: return order(a.as_bool(), b.as_bool());
    case integer: return order(a.as_int(), b.as_int());
    case floating: {
        double x = a.as_float(), y = b.as_float();
        if (std::isnan(x) || std::isnan(y)) return order(!std::isnan(x), !std::isnan(y));
        return order(x, y);
    }
    case string: return order(a.as_string().compare(b.as_string()), 0);
    case foreign: {
        const ForeignKind& kind = *a.foreign_kind();
        auto p = a.foreign_pointer(), q = b.foreign_pointer();
        if (kind.compare && &kind == b.foreign_kind()) return kind.compare(p.get(), q.get());
        return order(p.get(), q.get());
    }
    case function: return order(a.object(), b.object());
    case null: break;
    }
    return 0;
}

}  // namespace castile::lang
