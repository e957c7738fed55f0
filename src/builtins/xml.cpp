// XML: text as values of a wanted type, values as text (pugixml).

#include <pugixml.hpp>

#include <algorithm>
#include <charconv>

#include "builtins/data.h"
#include "builtins/define.h"
#include "builtins/encodings.h"
#include "builtins/numbers.h"
#include "lang/decode.h"
#include "lang/text.h"

namespace castile::builtins {

namespace {

using lang::Shape;

constexpr std::size_t max_xml_bytes = 16u << 20;   // a node takes up to sixteen times its text

/// The text cannot be read as the type wants it.
struct Misfit {};

std::string element_name(pugi::xml_node node) { return node.type() == pugi::node_element ? node.name() : "xml_text"; }

bool is_text(pugi::xml_node node) { return node.type() == pugi::node_pcdata || node.type() == pugi::node_cdata; }

/// What an element that holds text alone says.
std::optional<std::string> text_of(pugi::xml_node node) {
    if (is_text(node)) return node.value();
    const pugi::xml_node only = node.first_child();
    return only && !only.next_sibling() && is_text(only) ? std::optional<std::string>(only.value()) : std::nullopt;
}

Value convert(const std::string& s, Shape::Kind kind) {
    switch (kind) {
    case Shape::Kind::integer:
        if (auto i = parse_int(s)) return integer(*i);
        throw Misfit();
    case Shape::Kind::floating:
        if (auto d = parse_float(s)) return number(*d);
        throw Misfit();
    case Shape::Kind::boolean:
        if (s == "true" || s == "false") return boolean(s == "true");
        throw Misfit();
    default: return text(s);
    }
}

bool may_miss(const Shape::Field& f) { return f.optional || f.shape.nullable; }

Value attributes(pugi::xml_node node, const Shape& shape) {
    std::vector<std::pair<std::string, std::string>> list;
    for (pugi::xml_attribute a : node.attributes()) list.emplace_back(a.name(), a.value());
    Value result = shape.kind == Shape::Kind::record ? Value() : assoc(list);
    for (const Shape::Field& f : shape.fields) {
        const pugi::xml_attribute a = node.attribute(f.key.str().c_str());
        if (a) {
            try {
                result = result.with_method(f.name, convert(a.value(), f.shape.kind));
                continue;
            } catch (const Misfit&) {
                if (!may_miss(f)) throw;
            }
        } else if (!may_miss(f)) {
            throw Misfit();
        }
        result = result.with_method(f.name, Value::null());
    }
    return result;
}

// As deep as the document, which is bounded before.
Value decode(pugi::xml_node node, const Shape& shape);

Value children(pugi::xml_node node, const Shape& element) {
    std::vector<Value> out;
    for (pugi::xml_node child : node.children()) out.push_back(decode(child, element));
    return Value::list(std::move(out));
}

/// xml_text, xml_params, xml_children: what every element has.
std::optional<Value> general(pugi::xml_node node, const Shape::Field& f) {
    const std::string& key = f.key.str();
    if (key == "xml_params") return attributes(node, f.shape);
    if (key == "xml_text") {
        if (auto s = text_of(node)) return text(*s);
        return may_miss(f) ? Value::null() : text("");
    }
    if (key == "xml_children") return children(node, f.shape.kind == Shape::Kind::list ? f.shape.elements[0] : f.shape);
    return std::nullopt;
}

Value with_general(Value value, pugi::xml_node node, const Shape& shape) {
    for (const Shape::Field& f : shape.fields)
        if (auto v = general(node, f)) value = value.with_method(f.name, *v);
    return value;
}

Value ground(pugi::xml_node node, const Shape& shape) {
    const auto s = text_of(node);
    if (!s && shape.nullable) return Value::null();
    if (!s && shape.kind != Shape::Kind::string) throw Misfit();
    return with_general(convert(s.value_or(""), shape.kind), node, shape);
}

Value element_field(pugi::xml_node node, const Shape::Field& f) {
    std::vector<pugi::xml_node> found;
    for (pugi::xml_node child : node.children(f.key.str().c_str())) found.push_back(child);
    if (found.empty()) {
        if (!may_miss(f)) throw Misfit();
        return Value::null();
    }
    try {
        // An element that comes several times is a tuple.
        if (found.size() == 1 || f.shape.kind != Shape::Kind::tuple) return decode(found[0], f.shape);
        std::vector<Value> elements;
        for (std::size_t i = 0; i < f.shape.elements.size(); ++i) {
            if (i >= found.size() && !f.shape.elements[i].nullable) throw Misfit();
            elements.push_back(i < found.size() ? decode(found[i], f.shape.elements[i]) : Value::null());
        }
        return Value::tuple(std::move(elements));
    } catch (const Misfit&) {
        if (!may_miss(f)) throw;
        return Value::null();
    }
}

Value record(pugi::xml_node node, const Shape& shape) {
    std::vector<std::pair<Name, Value>> fields;
    for (const Shape::Field& f : shape.fields) {
        auto value = general(node, f);
        fields.emplace_back(f.name, value ? *value : element_field(node, f));
    }
    return Value::record(std::move(fields));
}

/// A record that names the element itself: {name : its contents}. Of other optional fields there is nothing.
std::optional<Value> named(pugi::xml_node node, const Shape& shape) {
    const std::string name = element_name(node);
    if (std::ranges::none_of(shape.fields, [&](const Shape::Field& f) { return f.key.str() == name; })) return std::nullopt;
    std::vector<std::pair<Name, Value>> fields;
    for (const Shape::Field& f : shape.fields) {
        if (f.key.str() == name) {
            bool is_record = f.shape.kind == Shape::Kind::record || (f.shape.kind == Shape::Kind::any && !f.shape.fields.empty());
            fields.emplace_back(f.name, is_record ? record(node, f.shape) : decode(node, f.shape));
        } else if (may_miss(f)) {
            fields.emplace_back(f.name, Value::null());
        } else {
            throw Misfit();
        }
    }
    return Value::record(std::move(fields));
}

/// ("name", {xml_text, xml_params, xml_children})
Value pair_of(pugi::xml_node node, const Shape& shape) {
    if (shape.elements.size() != 2) throw Misfit();
    return pair(text(element_name(node)), with_general(Value(), node, shape.elements[1]));
}

Value untyped(pugi::xml_node node) {
    if (is_text(node)) return text(node.value());
    std::vector<Value> list;
    for (pugi::xml_node child : node.children()) list.push_back(untyped(child));
    const pugi::xml_node only = node.first_child();
    Value properties = Value::record({{"xml_text", only && !only.next_sibling() && is_text(only) ? text(only.value()) : Value::null()},
                                      {"xml_params", attributes(node, Shape{})}, {"xml_children", Value::list(std::move(list))}});
    return pair(text(element_name(node)), properties);
}

Value decode_present(pugi::xml_node node, const Shape& shape) {
    switch (shape.kind) {
    case Shape::Kind::any:
        if (shape.fields.empty()) return untyped(node);
        [[fallthrough]];
    case Shape::Kind::record: {
        auto whole = named(node, shape);
        return whole ? *whole : record(node, shape);
    }
    case Shape::Kind::unit: return Value();
    case Shape::Kind::integer: case Shape::Kind::floating: case Shape::Kind::boolean: case Shape::Kind::string: return ground(node, shape);
    case Shape::Kind::list: return children(node, shape.elements[0]);
    case Shape::Kind::tuple: return pair_of(node, shape);
    case Shape::Kind::object: case Shape::Kind::other: break;
    }
    throw Misfit();
}

Value decode(pugi::xml_node node, const Shape& shape) {
    try {
        return decode_present(node, shape);
    } catch (const Misfit&) {
        if (!shape.nullable) throw;
        return Value::null();
    }
}

struct Deepest : pugi::xml_tree_walker {
    int deepest = 0;
    bool for_each(pugi::xml_node&) override {
        deepest = std::max(deepest, depth());
        return true;
    }
};

Value parse(const Shape& shape, std::span<const CallArgument>, const Value& input) {
    const std::string& s = input.as_string();
    if (s.size() > max_xml_bytes) raise("xml", "Parse error: the text is longer than " + std::to_string(max_xml_bytes) + " bytes.");
    pugi::xml_document document;
    const pugi::xml_parse_result result = document.load_buffer(s.data(), s.size());
    if (!result) raise("xml", std::string("Parse error: ") + result.description() + " at byte " + std::to_string(result.offset) + ".");
    const pugi::xml_node root = document.document_element();
    if (!root || root.next_sibling()) raise("xml", "Parse error: one element is expected.");
    Deepest depth;
    document.traverse(depth);
    if (depth.deepest >= static_cast<int>(max_data_depth)) raise("xml", "Parse error: the elements are nested too deeply.");
    try {
        return decode(root, shape);
    } catch (const Misfit&) {
        raise("xml", "Parse error: xml value cannot be parsed as type: " + shape.describe());
    }
}

// Values to text.

struct Element {
    std::string name, text;   // a text: no name
    std::vector<std::pair<std::string, std::string>> attributes;
    std::vector<Element> children;
};

[[noreturn]] void cannot() { raise("xml", "Value could not be converted to XML!"); }

std::string scalar(const Value& v) {
    switch (v.kind()) {
    case Value::Kind::string: return v.as_string();
    case Value::Kind::boolean: case Value::Kind::integer: case Value::Kind::floating: return lang::to_string(v.without_methods());
    default: cannot();
    }
}

std::vector<std::pair<std::string, std::string>> attributes_of(const Value& v) {
    std::vector<std::pair<std::string, std::string>> out;
    if (v.kind() == Value::Kind::list) {
        for (const Value& e : v.elements()) {
            if (e.kind() != Value::Kind::tuple || e.elements().size() != 2 || e.elements()[0].kind() != Value::Kind::string) cannot();
            out.emplace_back(e.elements()[0].as_string(), scalar(e.elements()[1]));
        }
        return out;
    }
    if (!v.without_methods().is_unit()) cannot();
    for (const auto& [name, value] : v.own_methods()) out.emplace_back(name.str(), scalar(value));
    std::ranges::sort(out);
    return out;
}

Element to_element(std::string name, const Value& contents, std::size_t depth);

Element formal(const Value& v, std::size_t depth) {
    if (v.kind() != Value::Kind::tuple) cannot();
    if (v.elements().size() == 2 && v.elements()[0].kind() == Value::Kind::string) return to_element(v.elements()[0].as_string(), v.elements()[1], depth);
    auto methods = v.own_methods();
    if (!v.elements().empty() || methods.size() != 1) cannot();
    return to_element(methods[0].first.str(), methods[0].second, depth);
}

Element to_element(std::string name, const Value& contents, std::size_t depth) {
    if (depth > max_data_depth || name.empty() || name.find_first_of(" \t\r\n<>&\"'=/") != name.npos) cannot();
    Element element{std::move(name), "", {}, {}};
    const bool is_record = contents.without_methods().is_unit();
    std::optional<std::string> said = is_record ? std::nullopt : std::optional(scalar(contents));
    const Value *params = contents.own_method("xml_params"), *list = contents.own_method("xml_children"), *own_text = contents.own_method("xml_text");
    if (own_text && !own_text->is_null()) said = scalar(*own_text);
    if (params && !params->is_null()) element.attributes = attributes_of(*params);
    auto methods = contents.own_methods();
    std::erase_if(methods, [](const auto& m) { return m.first == Name("xml_params") || m.first == Name("xml_children") || m.first == Name("xml_text"); });
    std::ranges::sort(methods, [](const auto& a, const auto& b) { return a.first < b.first; });
    if ((said || (list && !list->is_null())) && is_record && !methods.empty()) cannot();
    if (said) {
        if (element.name == "xml_text") return {"", *said, {}, {}};
        element.children.push_back({"", *said, {}, {}});
    } else if (list && !list->is_null()) {
        if (list->kind() != Value::Kind::list) cannot();
        for (const Value& child : list->elements()) element.children.push_back(formal(child, depth + 1));
    } else {
        for (const auto& [label, value] : methods) element.children.push_back(to_element(label.str(), value, depth + 1));
    }
    return element;
}

void write(std::string& out, const Element& e, std::size_t indent, bool compact) {
    auto line = [&](std::size_t n) {
        if (!compact) out.append(n, ' ');
    };
    if (!e.name.empty()) line(indent);   // blanks before a text would be part of it
    if (e.name.empty()) {
        out += markup_escape(e.text, "&apos;");
    } else {
        out += "<" + e.name;
        for (const auto& [key, value] : e.attributes) out += " " + key + "=\"" + markup_escape(value, "&apos;") + "\"";
        if (e.children.empty()) {
            out += "/>";
        } else if (e.children.size() == 1 && e.children[0].name.empty()) {
            out += ">" + markup_escape(e.children[0].text, "&apos;") + "</" + e.name + ">";
        } else {
            out += compact ? ">" : ">\n";
            for (const Element& child : e.children) write(out, child, indent + 2, compact);
            line(indent);
            out += "</" + e.name + ">";
        }
    }
    if (!compact && indent > 0) out += "\n";
}

const lang::RegisterDecoder xml_decoder("xml.parse", parse);

const Definitions definitions("String", {
    {"xml.stringify", "A value as XML: a record of one field, or a pair of a name and {xml_params, xml_children, xml_text}. Another one raises an error of kind `xml`.",
     {opt("compact", "bool", "false", "On one line?"), pos("'a")}, "string", [](const BuiltinArgs& a) {
        std::string out;
        write(out, formal(a[1], 0), 0, a[0].as_bool());
        return text(out); }},
});

}  // namespace

}  // namespace castile::builtins
