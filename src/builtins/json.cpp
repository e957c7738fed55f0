// JSON: values as text, text as values of a wanted type.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <nlohmann/json.hpp>

#include "builtins/define.h"
#include "lang/decode.h"
#include "lang/text.h"

namespace castile::builtins {

namespace {

using Json = nlohmann::ordered_json;
using lang::Shape;

constexpr int max_depth = 500;
constexpr std::size_t line_width = 79;

struct JsonObject {
    std::mutex fields_mutex;
    std::vector<std::pair<std::string, Value>> fields;   // of json.object, in the order they came
    std::optional<Value> value;            // of json.value
};

const ForeignKind json_kind{"json", [](const void*) { return std::string("json"); }};

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

/// A value on its way to text.
struct Node {
    std::string scalar;
    bool object = false;
    std::vector<std::pair<std::string, Node>> items;   // keys are empty in lists
    bool leaf() const { return items.empty(); }
};

std::string number_text(double d, bool json5) {
    if (std::isfinite(d)) return lang::float_text(d);
    if (!json5) raise("json", "Infinite or Nan number cannot be represented in JSON. You might want to consider using the `json5` representation.");
    return std::isnan(d) ? "NaN" : d < 0 ? "-Infinity" : "Infinity";
}

Node to_node(const Value& v, bool json5, int depth) {
    if (depth > max_depth) raise("json", "The value is nested too deeply.");
    Node node;
    auto sequence = [&] {
        node.scalar = "[]";
        for (const Value& e : v.elements()) node.items.emplace_back("", to_node(e, json5, depth + 1));
        return node;
    };
    auto object = [&](std::vector<std::pair<std::string, Value>> fields) {
        node.object = true;
        node.scalar = "{}";
        for (auto& [k, e] : fields) node.items.emplace_back(k, to_node(e, json5, depth + 1));
        return node;
    };
    switch (v.kind()) {
    case Value::Kind::null: node.scalar = "null"; return node;
    case Value::Kind::boolean: node.scalar = v.as_bool() ? "true" : "false"; return node;
    case Value::Kind::integer: node.scalar = fmt::format("{}", v.as_int()); return node;
    case Value::Kind::floating: node.scalar = number_text(v.as_float(), json5); return node;
    case Value::Kind::string: node.scalar = quote(v.as_string()); return node;
    case Value::Kind::list: return sequence();
    case Value::Kind::tuple: {
        auto methods = v.own_methods();
        if (!v.elements().empty() || methods.empty()) return sequence();
        std::ranges::sort(methods, [](const auto& a, const auto& b) { return a.first < b.first; });
        std::vector<std::pair<std::string, Value>> fields;
        for (auto& [name, m] : methods) fields.emplace_back(name.str(), m);
        return object(std::move(fields));
    }
    case Value::Kind::foreign:
        if (v.foreign_kind() == &json_kind) {
            auto json = v.as_foreign<JsonObject>();
            if (json->value) return to_node(*json->value, json5, depth + 1);
            std::lock_guard lock(json->fields_mutex);
            return object({json->fields.begin(), json->fields.end()});
        }
        [[fallthrough]];
    case Value::Kind::function: break;
    }
    raise("json", "Value " + lang::to_string(v, true) + " cannot be represented as json");
}

std::string flat(const Node& n, bool compact) {
    if (n.leaf()) return n.scalar;
    std::string out(n.object ? "{" : "[");
    const char* space = compact ? "" : " ";
    bool first = true;
    for (const auto& [key, item] : n.items) {
        out += std::exchange(first, false) ? space : std::string(",") + space;
        if (n.object) out += quote(key) + ":" + space;
        out += flat(item, compact);
    }
    return out + space + (n.object ? "}" : "]");
}

/// One item a line, in a box that starts at `indent` - 2; a field whose value fits its line stays on it.
void broken(std::string& out, const Node& n, std::size_t indent) {
    if (n.leaf()) {
        out += n.scalar;
        return;
    }
    out += n.object ? "{" : "[";
    bool first = true;
    for (const auto& [key, item] : n.items) {
        out += std::exchange(first, false) ? "\n" : ",\n";
        out.append(indent, ' ');
        if (!n.object) {
            broken(out, item, indent);
            continue;
        }
        std::string start = quote(key) + ": ", line = flat(item, false);
        out += start;
        if (indent + start.size() + line.size() <= line_width) out += line;
        else broken(out, item, indent + 2);
    }
    out += "\n";
    out.append(indent - 2, ' ');
    out += n.object ? "}" : "]";
}

std::string stringify(const Value& v, bool compact, bool json5) {
    Node node = to_node(v, json5, 0);
    std::string line = flat(node, compact);
    if (compact || line.size() <= line_width) return line;
    std::string out;
    broken(out, node, 2);
    return out;
}

/// What did not fit: the type asked for at that place, wrapped on the way out.
struct Misfit { std::string type; };

Value decode(const Json& j, const Shape& shape, int depth);

std::string with_mark(std::string type, const Shape& shape) { return shape.nullable ? type + "?" : type; }

Value decode_record(const Json& j, const Shape& shape, int depth) {
    std::vector<std::pair<Name, Value>> fields;
    for (const Shape::Field& f : shape.fields) {
        bool may_miss = f.optional || f.shape.nullable;
        std::string label = f.key == f.name ? f.name.str() : lang::quote_text(f.key.str()) + " as " + f.name.str();
        auto it = j.find(f.key.str());
        if (it == j.end()) {
            if (!may_miss) throw Misfit{with_mark("{" + label + ": _, _}", shape)};
            fields.emplace_back(f.name, Value::null());
            continue;
        }
        try {
            fields.emplace_back(f.name, decode(*it, f.shape, depth + 1));
        } catch (const Misfit& m) {
            if (!may_miss) throw Misfit{with_mark("{" + label + ": " + m.type + ", _}", shape)};
            fields.emplace_back(f.name, Value::null());
        }
    }
    return Value::record(std::move(fields));
}

Value decode_tuple(const Json& j, const Shape& shape, int depth) {
    std::vector<Value> elements;
    for (std::size_t i = 0; i < shape.elements.size(); ++i) {
        try {
            if (i >= j.size()) throw Misfit{shape.describe()};
            elements.push_back(decode(j[i], shape.elements[i], depth + 1));
        } catch (const Misfit& m) {
            std::string type;
            for (std::size_t k = 0; k < shape.elements.size(); ++k) type += (k ? "," : "") + (k == i ? m.type : std::string("_"));
            throw Misfit{with_mark("(" + type + ")", shape)};
        }
    }
    return Value::tuple(std::move(elements));
}

/// Without a type: objects as records, lists as lists.
Value decode_any(const Json& j, int depth) {
    if (depth > max_depth) raise("json", "The data is nested too deeply.");
    switch (j.type()) {
    case Json::value_t::boolean: return boolean(j.get<bool>());
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned: return integer(j.get<std::int64_t>());
    case Json::value_t::number_float: return number(j.get<double>());
    case Json::value_t::string: return text(j.get<std::string>());
    case Json::value_t::array: {
        std::vector<Value> elements;
        for (const Json& e : j) elements.push_back(decode_any(e, depth + 1));
        return Value::list(std::move(elements));
    }
    case Json::value_t::object: {
        std::vector<std::pair<Name, Value>> fields;
        for (const auto& [key, e] : j.items()) fields.emplace_back(key, decode_any(e, depth + 1));
        return Value::record(std::move(fields));
    }
    default: return Value::null();
    }
}

Value decode_present(const Json& j, const Shape& shape, int depth) {
    if (depth > max_depth) raise("json", "The data is nested too deeply.");
    using enum Shape::Kind;
    switch (shape.kind) {
    case any:
        if (!shape.fields.empty() && j.is_object()) return decode_record(j, shape, depth);
        return Value::null();
    case record:
        if (j.is_object()) return decode_record(j, shape, depth);
        break;
    case unit:
        if (j.is_object() || (j.is_array() && j.empty())) return Value::unit();
        break;
    case integer:
        if (j.is_number_integer()) return Value::integer(j.get<std::int64_t>());
        throw Misfit{with_mark("int", shape)};
    case floating:
        if (j.is_number()) return number(j.get<double>());
        throw Misfit{with_mark("float", shape)};
    case string:
        if (j.is_string()) return text(j.get<std::string>());
        throw Misfit{with_mark("string", shape)};
    case Shape::Kind::boolean:
        if (j.is_boolean()) return Value::boolean(j.get<bool>());
        throw Misfit{with_mark("bool", shape)};
    case list:
        if (j.is_array()) {
            std::vector<Value> elements;
            for (const Json& e : j) {
                try {
                    elements.push_back(decode(e, shape.elements[0], depth + 1));
                } catch (const Misfit& m) {
                    throw Misfit{with_mark("[" + m.type + "]", shape)};
                }
            }
            return Value::list(std::move(elements));
        }
        break;
    case tuple:
        if (j.is_array()) return decode_tuple(j, shape, depth);
        break;
    case object:
        if (j.is_object()) {
            std::vector<Value> pairs;
            for (const auto& [key, e] : j.items()) {
                try {
                    pairs.push_back(pair(text(key), decode(e, shape.elements[0], depth + 1)));
                } catch (const Misfit& m) {
                    throw Misfit{with_mark("{" + key + ": " + m.type + ", _}", shape)};
                }
            }
            return Value::list(std::move(pairs));
        }
        break;
    case other: break;
    }
    throw Misfit{shape.describe()};
}

Value decode(const Json& j, const Shape& shape, int depth) {
    if (!shape.nullable) return decode_present(j, shape, depth);
    try {
        return decode_present(j, shape, depth);
    } catch (const Misfit&) {
        return Value::null();
    }
}

Json parse(const std::string& s, bool comments) {
    try {
        return Json::parse(s, nullptr, true, comments);
    } catch (const Json::exception& e) {
        std::string message = e.what();
        std::size_t start = message.find("] ");   // without the library's own number
        raise("json", "Parse error: " + (start == message.npos ? message : message.substr(start + 2)));
    }
}

Value decode_text(const Shape& shape, std::span<const CallArgument> options, const Value& input) {
    bool json5 = false;
    for (const CallArgument& option : options) json5 = json5 || (option.label == Name("json5") && option.value.as_bool());
    Json j = parse(input.as_string(), json5);
    try {
        if (shape.kind == Shape::Kind::any && shape.fields.empty()) return decode_any(j, 0);
        return decode(j, shape, 0);
    } catch (const Misfit& m) {
        raise("json", "Parsing error: json value cannot be parsed as type " + m.type);
    }
}

/// The old json.parse(default=...): what a value like the default can be.
std::optional<Value> like(const Value& d, const Json& j, int depth) {
    if (depth > max_depth) return std::nullopt;
    using enum Value::Kind;
    switch (d.kind()) {
    case Value::Kind::boolean: return j.is_boolean() ? std::optional(Value::boolean(j.get<bool>())) : std::nullopt;
    case Value::Kind::integer: return j.is_number_integer() ? std::optional(Value::integer(j.get<std::int64_t>())) : std::nullopt;
    case floating: return j.is_number() ? std::optional(number(j.get<double>())) : std::nullopt;
    case string:
        if (j.is_string()) return text(j.get<std::string>());
        return j.is_number() || j.is_boolean() ? std::optional(text(j.dump())) : std::nullopt;
    case list: {
        std::vector<Value> out;
        if (j.is_object() && !d.elements().empty() && d.elements()[0].kind() == tuple && d.elements()[0].elements().size() == 2) {
            for (const auto& [key, e] : j.items())
                if (auto v = like(d.elements()[0].elements()[1], e, depth + 1)) out.push_back(pair(text(key), *v));
            return Value::list(std::move(out));
        }
        if (!j.is_array() || (d.elements().empty() && !j.empty())) return std::nullopt;
        for (const Json& e : j) {
            auto v = like(d.elements()[0], e, depth + 1);
            if (!v) return std::nullopt;
            out.push_back(*v);
        }
        return Value::list(std::move(out));
    }
    case tuple: {
        if (d.elements().empty()) {
            if (!j.is_object()) return std::nullopt;
            std::vector<std::pair<Name, Value>> fields;
            for (const auto& [name, m] : d.own_methods()) {
                auto it = j.find(name.str());
                auto v = it == j.end() ? std::nullopt : like(m, *it, depth + 1);
                if (!v) return std::nullopt;
                fields.emplace_back(name, *v);
            }
            return Value::record(std::move(fields));
        }
        if (!j.is_array() || j.size() != d.elements().size()) return std::nullopt;
        std::vector<Value> out;
        for (std::size_t i = 0; i < j.size(); ++i) {
            auto v = like(d.elements()[i], j[i], depth + 1);
            if (!v) return std::nullopt;
            out.push_back(*v);
        }
        return Value::tuple(std::move(out));
    }
    default: return std::nullopt;
    }
}

Value parse_like(const BuiltinArgs& a) {
    try {
        return like(a[0], parse(a[1].as_string(), false), 0).value_or(a[0]);
    } catch (const RuntimeError&) {
        return a[0];
    }
}

Value make_object(const BuiltinArgs&) {
    auto object = std::make_shared<JsonObject>();
    Value add = native([object](std::span<const CallArgument> a) {
        std::lock_guard lock(object->fields_mutex);
        auto it = std::ranges::find(object->fields, a[0].value.as_string(), &std::pair<std::string, Value>::first);
        if (it == object->fields.end()) object->fields.emplace_back(a[0].value.as_string(), a[1].value);
        else it->second = a[1].value;
        return Value();
    });
    Value remove = native([object](std::span<const CallArgument> a) {
        std::lock_guard lock(object->fields_mutex);
        std::erase_if(object->fields, [&](const auto& f) { return f.first == a[0].value.as_string(); });
        return Value();
    });
    Value self = Value::foreign(json_kind, object);
    Value render = native([self](std::span<const CallArgument> a) {
        bool compact = false, json5 = false;
        for (const CallArgument& x : a) (x.label == Name("compact") ? compact : json5) = x.value.as_bool();
        return text(stringify(self, compact, json5));
    });
    return self.with_method("add", add).with_method("remove", remove).with_method("stringify", render);
}

const std::vector<lang::BuiltinMethod> object_methods = {
    {"add", "(string, 'a) -> unit", "Add or replace a field."},
    {"remove", "(string) -> unit", "Remove a field."},
    {"stringify", "(?compact : bool, ?json5 : bool) -> string", "As text."},
};

const lang::RegisterDecoder json_decoder("json.parse", decode_text);

const Definitions definitions("String", {
    {"json.stringify", "A value as JSON.", {opt("compact", "bool", "false", "Without spaces?"), opt("json5", "bool", "false", "Allow what only JSON5 can say?"), pos("'a")}, "string",
     [](const BuiltinArgs& a) { return text(stringify(a[2], a[0].as_bool(), a[1].as_bool())); }},
    {"json.value", "A value to be part of JSON.", {pos("'a")}, "json", [](const BuiltinArgs& a) {
        auto json = std::make_shared<JsonObject>();
        json->value = a[0];
        return Value::foreign(json_kind, json); }},
    {"json.object", "An empty JSON object, to be filled.", {}, "json", make_object, object_methods},
    {"json", "An empty JSON object, to be filled.", {}, "json", make_object, object_methods},
    {"json.parse", "Parse JSON into a value like the default.", {arg("default", "'a", "Value when the text is not like it."), pos("string")}, "'a", parse_like, {}, "Use `let json.parse x = ...` instead."},
    {"of_json", "Parse JSON into a value like the default.", {arg("default", "'a", "Value when the text is not like it."), pos("string")}, "'a", parse_like, {}, "Use `let json.parse x = ...` instead."},
});

}  // namespace

}  // namespace castile::builtins
