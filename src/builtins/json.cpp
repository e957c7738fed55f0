// JSON: values as text, text as values of a wanted type.

#include <algorithm>
#include <bit>
#include <mutex>

#include "base/error.h"
#include "builtins/data_values.h"
#include "builtins/define.h"
#include "lang/decode.h"

namespace castile::builtins {

namespace {

/// The fields of a json.object, in the order that Liquidsoap writes them: that of a hash table which doubles when it holds
/// more than two entries a chain, its hash being MurmurHash3 (32 bits, seed 0), read from the last chain to the first.
class ObjectFields {
public:
    void set(const std::string& key, Value value) {
        auto& chain = chain_of(key);
        for (auto& [k, v] : chain) {
            if (k != key) continue;
            v = std::move(value);
            return;
        }
        chain.emplace(chain.begin(), key, std::move(value));
        if (++size_ > 2 * chains_.size()) grow();
    }
    void remove(const std::string& key) {
        size_ -= std::erase_if(chain_of(key), [&](const auto& f) { return f.first == key; });
    }
    std::vector<std::pair<std::string, Value>> all() const {
        std::vector<std::pair<std::string, Value>> out;
        for (const auto& chain : chains_) out.insert(out.end(), chain.begin(), chain.end());
        std::ranges::reverse(out);
        return out;
    }

private:
    using Chain = std::vector<std::pair<std::string, Value>>;

    static std::uint32_t hash(std::string_view s) {
        std::uint32_t h = 0;
        auto mix = [&](std::uint32_t w) {
            h ^= std::rotl(w * 0xcc9e2d51u, 15) * 0x1b873593u;
            h = std::rotl(h, 13) * 5 + 0xe6546b64u;
        };
        auto word = [&](std::size_t i, std::size_t n) {
            std::uint32_t w = 0;
            for (std::size_t k = 0; k < n; ++k) w |= std::uint32_t{static_cast<unsigned char>(s[i + k])} << (8 * k);
            return w;
        };
        std::size_t i = 0;
        for (; i + 4 <= s.size(); i += 4) mix(word(i, 4));
        if (i < s.size()) mix(word(i, s.size() - i));
        h ^= static_cast<std::uint32_t>(s.size());
        h = (h ^ h >> 16) * 0x85ebca6bu;
        h = (h ^ h >> 13) * 0xc2b2ae35u;
        return (h ^ h >> 16) & 0x3FFFFFFF;
    }
    Chain& chain_of(const std::string& key) { return chains_[hash(key) & (chains_.size() - 1)]; }
    void grow() {
        std::vector<Chain> old(chains_.size() * 2);
        old.swap(chains_);
        for (Chain& chain : old)
            for (auto& f : chain) chain_of(f.first).push_back(std::move(f));
    }

    std::vector<Chain> chains_{16};
    std::size_t size_ = 0;
};

struct Json {
    std::mutex fields_mutex;
    ObjectFields fields;            // of json.object
    std::optional<Value> value;     // of json.value
};

const ForeignKind json_kind{"json", [](const void*) { return std::string("json"); }};

class ToData {
public:
    explicit ToData(const char* kind) : kind_(kind) {}

    void add(const Value& v) {
        switch (v.kind()) {
        case Value::Kind::null: return builder_.add({});
        case Value::Kind::boolean: return builder_.add({v.as_bool()});
        case Value::Kind::integer: return builder_.add({v.as_int()});
        case Value::Kind::floating: return builder_.add({v.as_float()});
        case Value::Kind::string: return builder_.add({v.as_string()});
        case Value::Kind::list: return sequence(v);
        case Value::Kind::tuple: {
            auto methods = v.own_methods();
            if (!v.elements().empty() || methods.empty()) return sequence(v);
            std::ranges::sort(methods, [](const auto& a, const auto& b) { return a.first < b.first; });
            return object(methods);
        }
        case Value::Kind::foreign:
            if (v.foreign_kind() == &json_kind) {
                auto json = v.as_foreign<Json>();
                if (json->value) return add(*json->value);
                std::unique_lock lock(json->fields_mutex);
                auto fields = json->fields.all();
                lock.unlock();
                return object(fields);
            }
            [[fallthrough]];
        case Value::Kind::function: break;
        }
        raise(kind_, "Value " + lang::to_string(v, true) + " cannot be represented as " + kind_);
    }
    Data take() { return builder_.take(); }

private:
    void sequence(const Value& v) {
        builder_.begin(false);
        for (const Value& e : v.elements()) add(e);
        builder_.end();
    }
    template <class Fields> void object(const Fields& fields) {
        builder_.begin(true);
        for (const auto& [key, value] : fields) {
            if constexpr (std::is_same_v<std::remove_cvref_t<decltype(key)>, std::string>) builder_.key(key);
            else builder_.key(key.str());
            add(value);
        }
        builder_.end();
    }
    const char* kind_;
    DataBuilder builder_;
};

std::string stringify(const Value& v, bool compact, bool json5) { return json_text(to_data(v, "json"), compact, json5); }

Data parse(const std::string& s, bool json5) {
    try {
        return json5 ? read_json5(s) : read_json(s);
    } catch (const Error& e) {
        raise("json", std::string("Parse error: ") + e.what());
    }
}

Value decode_text(const lang::Shape& shape, std::span<const CallArgument> options, const Value& input) {
    bool json5 = false;
    for (const CallArgument& option : options) json5 = json5 || (option.label == Name("json5") && option.value.as_bool());
    auto value = from_data(parse(input.as_string(), json5), shape);
    if (!value) raise("json", "Parsing error: json value cannot be parsed as type " + value.error());
    return std::move(*value);
}

/// The old json.parse(default=...): what a value like the default can be.
std::optional<Value> like(const Value& d, const Data& data) {
    const auto* list = data.as<Data::List>();
    const auto* object = data.as<Data::Object>();
    switch (d.kind()) {
    case Value::Kind::boolean: return data.as<bool>() ? std::optional(boolean(*data.as<bool>())) : std::nullopt;
    case Value::Kind::integer: return data.as<std::int64_t>() ? std::optional(integer(*data.as<std::int64_t>())) : std::nullopt;
    case Value::Kind::floating:
        if (const auto* i = data.as<std::int64_t>()) return number(static_cast<double>(*i));
        return data.as<double>() ? std::optional(number(*data.as<double>())) : std::nullopt;
    case Value::Kind::string:
        if (const auto* s = data.as<std::string>()) return text(*s);
        return list || object || data.is_null() ? std::nullopt : std::optional(text(json_text(data, true, true)));
    case Value::Kind::list: {
        std::vector<Value> out;
        auto e = d.elements();
        if (object && !e.empty() && e[0].kind() == Value::Kind::tuple && e[0].elements().size() == 2) {
            for (const Field& f : *object)
                if (auto v = like(e[0].elements()[1], f.data)) out.push_back(pair(text(f.key), *v));
            return Value::list(std::move(out));
        }
        if (!list || (e.empty() && !list->empty())) return std::nullopt;
        for (const Data& item : *list) {
            auto v = like(e[0], item);
            if (!v) return std::nullopt;
            out.push_back(*v);
        }
        return Value::list(std::move(out));
    }
    case Value::Kind::tuple: {
        if (d.elements().empty()) {
            if (!object) return data.is_null() ? std::optional(Value()) : std::nullopt;
            std::vector<std::pair<Name, Value>> fields;
            for (const auto& [name, m] : d.own_methods()) {
                const Data* there = data.find(name.view());
                auto v = there ? like(m, *there) : std::nullopt;
                if (!v) return std::nullopt;
                fields.emplace_back(name, *v);
            }
            return Value::record(std::move(fields));
        }
        if (!list || list->size() != d.elements().size()) return std::nullopt;
        std::vector<Value> out;
        for (std::size_t i = 0; i < list->size(); ++i) {
            auto v = like(d.elements()[i], (*list)[i]);
            if (!v) return std::nullopt;
            out.push_back(*v);
        }
        return Value::tuple(std::move(out));
    }
    case Value::Kind::null: case Value::Kind::function: case Value::Kind::foreign: break;
    }
    return std::nullopt;
}

Value parse_like(const BuiltinArgs& a) {
    try {
        return like(a[0], parse(a[1].as_string(), false)).value_or(a[0]);
    } catch (const RuntimeError&) {
        return a[0];
    }
}

Value make_object(const BuiltinArgs&) {
    auto object = std::make_shared<Json>();
    Value add = native([object](std::span<const CallArgument> a) {
        std::lock_guard lock(object->fields_mutex);
        object->fields.set(a[0].value.as_string(), a[1].value);
        return Value();
    });
    Value remove = native([object](std::span<const CallArgument> a) {
        std::lock_guard lock(object->fields_mutex);
        object->fields.remove(a[0].value.as_string());
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

constexpr const char* old = "Use `let json.parse x = ...` instead.";

const Definitions definitions("String", {
    {"json.stringify", "A value as JSON. Functions and sources raise an error of kind `json`.",
     {opt("compact", "bool", "false", "Without spaces?"), opt("json5", "bool", "false", "Allow what only JSON5 can say?"), pos("'a")}, "string",
     [](const BuiltinArgs& a) { return text(stringify(a[2], a[0].as_bool(), a[1].as_bool())); }},
    {"json.value", "A value to be part of JSON: values of different types become values of one.", {pos("'a")}, "json", [](const BuiltinArgs& a) {
        auto json = std::make_shared<Json>();
        json->value = a[0];
        return Value::foreign(json_kind, json); }},
    {"json.object", "An empty JSON object, to be filled.", {}, "json", make_object, object_methods},
    {"json", "An empty JSON object, to be filled.", {}, "json", make_object, object_methods},
    {"json.parse", "Parse JSON into a value like the default.", {arg("default", "'a", "Value when the text is not like it."), pos("string")}, "'a", parse_like, {}, old},
    {"of_json", "Parse JSON into a value like the default.", {arg("default", "'a", "Value when the text is not like it."), pos("string")}, "'a", parse_like, {}, old},
});

}  // namespace

Data to_data(const Value& value, const char* kind) {
    ToData to(kind);
    try {
        to.add(value);
    } catch (const Error& e) {
        raise(kind, std::string("The value cannot be represented as ") + kind + ": " + e.what() + ".");
    }
    return to.take();
}

}  // namespace castile::builtins
