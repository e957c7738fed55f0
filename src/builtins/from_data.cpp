// Data as values of a wanted type.

#include "builtins/data_values.h"
#include "builtins/define.h"
#include "lang/text.h"

namespace castile::builtins {

namespace {

using lang::Shape;

/// What did not fit: the type asked for at that place, wrapped on the way out.
struct Misfit { std::string type; };

// Data is at most max_data_depth deep, and so is what walks it.
Value decode(const Data& data, const Shape& shape);

std::string with_mark(std::string type, const Shape& shape) { return shape.nullable ? type + "?" : type; }

Value decode_record(const Data& data, const Shape& shape) {
    std::vector<std::pair<Name, Value>> fields;
    for (const Shape::Field& f : shape.fields) {
        bool may_miss = f.optional || f.shape.nullable;
        std::string label = f.key == f.name ? f.name.str() : lang::quote_text(f.key.str()) + " as " + f.name.str();
        const Data* there = data.find(f.key.str());
        if (!there) {
            if (!may_miss) throw Misfit{with_mark("{" + label + ": _, _}", shape)};
            fields.emplace_back(f.name, Value::null());
            continue;
        }
        try {
            fields.emplace_back(f.name, decode(*there, f.shape));
        } catch (const Misfit& m) {
            if (!may_miss) throw Misfit{with_mark("{" + label + ": " + m.type + ", _}", shape)};
            fields.emplace_back(f.name, Value::null());
        }
    }
    return Value::record(std::move(fields));
}

Value decode_tuple(const Data::List& list, const Shape& shape) {
    std::vector<Value> elements;
    for (std::size_t i = 0; i < shape.elements.size(); ++i) {
        try {
            if (i >= list.size()) throw Misfit{shape.describe()};
            elements.push_back(decode(list[i], shape.elements[i]));
        } catch (const Misfit& m) {
            std::string type;
            for (std::size_t k = 0; k < shape.elements.size(); ++k) type += (k ? "," : "") + (k == i ? m.type : std::string("_"));
            throw Misfit{with_mark("(" + type + ")", shape)};
        }
    }
    return Value::tuple(std::move(elements));
}

Value decode_list(const Data::List& list, const Shape& shape) {
    std::vector<Value> elements;
    elements.reserve(list.size());
    for (const Data& e : list) {
        try {
            elements.push_back(decode(e, shape.elements[0]));
        } catch (const Misfit& m) {
            throw Misfit{with_mark("[" + m.type + "]", shape)};
        }
    }
    return Value::list(std::move(elements));
}

Value decode_object(const Data::Object& object, const Shape& shape) {
    std::vector<Value> pairs;
    pairs.reserve(object.size());
    for (const Field& f : object) {
        try {
            pairs.push_back(pair(text(f.key), decode(f.data, shape.elements[0])));
        } catch (const Misfit& m) {
            throw Misfit{with_mark("{" + f.key + ": " + m.type + ", _}", shape)};
        }
    }
    return Value::list(std::move(pairs));
}

Value decode_present(const Data& data, const Shape& shape) {
    const auto* list = data.as<Data::List>();
    const auto* object = data.as<Data::Object>();
    switch (shape.kind) {
    case Shape::Kind::any:
        return object ? decode_record(data, shape) : Value::null();   // nothing asks for what is in it
    case Shape::Kind::record:
        if (object) return decode_record(data, shape);
        break;
    case Shape::Kind::unit:
        if (object || (list && list->empty())) return Value::unit();
        break;
    case Shape::Kind::integer:
        if (const auto* i = data.as<std::int64_t>()) return integer(*i);
        throw Misfit{with_mark("int", shape)};
    case Shape::Kind::floating:
        if (const auto* i = data.as<std::int64_t>()) return number(static_cast<double>(*i));
        if (const auto* d = data.as<double>()) return number(*d);
        throw Misfit{with_mark("float", shape)};
    case Shape::Kind::string:
        if (const auto* s = data.as<std::string>()) return text(*s);
        throw Misfit{with_mark("string", shape)};
    case Shape::Kind::boolean:
        if (const auto* b = data.as<bool>()) return boolean(*b);
        throw Misfit{with_mark("bool", shape)};
    case Shape::Kind::list:
        if (list) return decode_list(*list, shape);
        break;
    case Shape::Kind::tuple:
        if (list) return decode_tuple(*list, shape);
        break;
    case Shape::Kind::object:
        if (object) return decode_object(*object, shape);
        break;
    case Shape::Kind::other: break;
    }
    throw Misfit{shape.describe()};
}

Value decode(const Data& data, const Shape& shape) {
    if (!shape.nullable) return decode_present(data, shape);
    try {
        return decode_present(data, shape);
    } catch (const Misfit&) {
        return Value::null();
    }
}

}  // namespace

std::expected<Value, std::string> from_data(const Data& data, const Shape& shape) {
    try {
        return decode(data, shape);
    } catch (const Misfit& m) {
        return std::unexpected(m.type);
    }
}

}  // namespace castile::builtins
