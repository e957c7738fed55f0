// Data as JSON.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "builtins/data_values.h"
#include "builtins/define.h"
#include "lang/text.h"

namespace castile::builtins {

namespace {

constexpr std::size_t line_width = 79;

/// Bytes that are no UTF-8 become the replacement character, one for what looks like one sequence.
std::string quote(const std::string& s) {
    std::string out = "\"";
    for (std::size_t i = 0; i < s.size();) {
        auto b = static_cast<unsigned char>(s[i]);
        std::size_t n = std::min<std::size_t>(b < 0xC0 ? 1 : b < 0xE0 ? 2 : b < 0xF0 ? 3 : 4, s.size() - i);
        std::string_view c = std::string_view(s).substr(i, n);
        i += n;
        if (b >= 0x80) {
            out += lang::valid_utf8(c) ? std::string(c) : "\\uFFFD";
            continue;
        }
        switch (b) {
        case '"': out += "\\\""; break;
        case '\\': out += "\\\\"; break;
        case '\n': out += "\\n"; break;
        case '\r': out += "\\r"; break;
        case '\t': out += "\\t"; break;
        case '\b': out += "\\b"; break;
        default:
            if (b < 0x20 || b == 0x7F) out += fmt::format("\\u{:04X}", b);
            else out += static_cast<char>(b);
        }
    }
    return out + "\"";
}

class JsonWriter {
public:
    JsonWriter(bool compact, bool json5) : space_(compact ? "" : " "), compact_(compact), json5_(json5) {}

    std::string write(const Data& data) const {
        std::string line = flat(data);
        if (compact_ || line.size() <= line_width) return line;
        std::string out;
        broken(out, data, 2);
        return out;
    }

private:
    std::string scalar(const Data& data) const {
        if (data.is_null()) return "null";
        if (const auto* b = data.as<bool>()) return *b ? "true" : "false";
        if (const auto* i = data.as<std::int64_t>()) return std::to_string(*i);
        if (const auto* s = data.as<std::string>()) return quote(*s);
        if (const auto* d = data.as<double>()) {
            if (std::isfinite(*d)) return lang::float_text(*d);
            if (!json5_) raise("json", "Infinite or Nan number cannot be represented in JSON. You might want to consider using the `json5` representation.");
            return std::isnan(*d) ? "NaN" : *d < 0 ? "-Infinity" : "Infinity";
        }
        return data.as<Data::Object>() ? "{}" : "[]";
    }

    /// Calls f(key or nullptr, data) on each item.
    template <class F> static void each(const Data& data, F f) {
        if (const auto* list = data.as<Data::List>())
            for (const Data& d : *list) f(nullptr, d);
        if (const auto* object = data.as<Data::Object>())
            for (const Field& field : *object) f(&field.key, field.data);
    }
    static bool leaf(const Data& data) {
        const auto* list = data.as<Data::List>();
        const auto* object = data.as<Data::Object>();
        return list ? list->empty() : !object || object->empty();
    }

    void append_flat(std::string& out, const Data& data) const {
        if (leaf(data)) {
            out += scalar(data);
            return;
        }
        bool object = data.as<Data::Object>(), first = true;
        out += object ? "{" : "[";
        each(data, [&](const std::string* key, const Data& item) {
            if (!std::exchange(first, false)) out += ",";
            out += space_;
            if (key) out += quote(*key) + ":" + space_;
            append_flat(out, item);
        });
        out += space_;
        out += object ? "}" : "]";
    }
    std::string flat(const Data& data) const {
        std::string out;
        append_flat(out, data);
        return out;
    }

    /// One item a line, in a box that starts at `indent` - 2; a field whose value fits its line stays on it.
    void broken(std::string& out, const Data& data, std::size_t indent) const {
        if (leaf(data)) {
            out += scalar(data);
            return;
        }
        bool object = data.as<Data::Object>(), first = true;
        out += object ? "{" : "[";
        each(data, [&](const std::string* key, const Data& item) {
            out += std::exchange(first, false) ? "\n" : ",\n";
            out.append(indent, ' ');
            if (!key) return broken(out, item, indent);
            std::string start = quote(*key) + ": ", line = flat(item);
            out += start;
            if (indent + start.size() + line.size() <= line_width) out += line;
            else broken(out, item, indent + 2);
        });
        out += "\n";
        out.append(indent - 2, ' ');
        out += object ? "}" : "]";
    }

    const char* space_;
    bool compact_, json5_;
};

}  // namespace

std::string json_text(const Data& data, bool compact, bool json5) { return JsonWriter(compact, json5).write(data); }

}  // namespace castile::builtins
