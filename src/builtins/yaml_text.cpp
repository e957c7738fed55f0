// YAML in and out (libyaml's events).

#include <yaml.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "base/error.h"
#include "builtins/data.h"
#include "lang/text.h"

namespace castile::builtins {

namespace {

constexpr std::size_t max_expanded_bytes = 256u << 20;   // aliases may stand for much

std::string_view view(const yaml_char_t* s, std::size_t length) { return {reinterpret_cast<const char*>(s), length}; }

std::optional<std::int64_t> integer(std::string_view s) {
    int base = 10;
    bool negative = false;
    if (s.starts_with("0x") || s.starts_with("0o")) {
        base = s[1] == 'x' ? 16 : 8;
        s.remove_prefix(2);
    } else if (s.starts_with('-') || s.starts_with('+')) {
        negative = s[0] == '-';
        s.remove_prefix(1);
    }
    std::uint64_t u = 0;
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), u, base);
    if (error != std::errc() || end != s.data() + s.size() || u > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) + negative) return std::nullopt;
    return static_cast<std::int64_t>(negative ? 0 - u : u);
}

std::optional<double> floating(std::string_view s) {
    const bool negative = s.starts_with('-');
    if (negative || s.starts_with('+')) s.remove_prefix(1);
    if (s == ".inf" || s == ".Inf" || s == ".INF") return negative ? -HUGE_VAL : HUGE_VAL;
    if (s == ".nan" || s == ".NaN" || s == ".NAN") return std::numeric_limits<double>::quiet_NaN();
    if (s.find_first_not_of("0123456789.eE+-") != s.npos || s.find_first_of("0123456789") == s.npos) return std::nullopt;
    double d = 0;
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), d);
    if (error != std::errc() || end != s.data() + s.size()) return std::nullopt;
    return negative ? -d : d;
}

/// What a scalar without quotes is (YAML 1.2's core schema).
Data resolved(std::string_view s) {
    if (s.empty() || s == "~" || s == "null" || s == "Null" || s == "NULL") return {};
    if (s == "true" || s == "True" || s == "TRUE") return {true};
    if (s == "false" || s == "False" || s == "FALSE") return {false};
    if (auto i = integer(s)) return {*i};
    if (auto d = floating(s)) return {*d};
    return {std::string(s)};
}

/// A key as text; what is a list or an object can be none.
std::optional<std::string> key_text(const Data& data) {
    if (const auto* s = data.as<std::string>()) return *s;
    if (const auto* i = data.as<std::int64_t>()) return std::to_string(*i);
    if (const auto* d = data.as<double>()) return lang::float_text(*d);
    if (const auto* b = data.as<bool>()) return *b ? "true" : "false";
    return data.is_null() ? std::optional<std::string>("null") : std::nullopt;
}

/// A node with what its copies cost.
struct Node {
    Data data;
    std::size_t height = 0, bytes = 0;
};

class Composer {
public:
    explicit Composer(std::string_view text) {
        if (!yaml_parser_initialize(&parser_)) throw Error("there is no memory left");
        yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
    }
    ~Composer() { yaml_parser_delete(&parser_); }
    Composer(const Composer&) = delete;

    Data compose() {
        for (;;) {
            yaml_event_t event;
            if (!yaml_parser_parse(&parser_, &event)) fail(parser_.problem ? parser_.problem : "syntax error", parser_.problem_mark);
            const std::unique_ptr<yaml_event_t, void (*)(yaml_event_t*)> guard(&event, yaml_event_delete);
            if (event.type == YAML_STREAM_END_EVENT) return std::move(root_.data);
            take(event);
        }
    }

private:
    struct Open {
        Node node;
        bool map = false, has_key = false, dropped = false;
        std::string key, anchor;
    };

    [[noreturn]] static void fail(const std::string& what, const yaml_mark_t& mark) {
        throw Error("line " + std::to_string(mark.line + 1) + ", column " + std::to_string(mark.column + 1) + ": " + what);
    }
    static std::string anchor(const yaml_char_t* name) { return name ? reinterpret_cast<const char*>(name) : ""; }

    void take(const yaml_event_t& event) {
        switch (event.type) {
        case YAML_DOCUMENT_START_EVENT:
            if (++documents_ > 1) fail("there is more than one document", event.start_mark);
            return;
        case YAML_SCALAR_EVENT: {
            const auto& s = event.data.scalar;
            const std::string_view text = view(s.value, s.length), tag = s.tag ? reinterpret_cast<const char*>(s.tag) : "";
            const bool is_text = tag.empty() ? s.style != YAML_PLAIN_SCALAR_STYLE : tag == YAML_STR_TAG || tag == "!";
            Node node{is_text ? Data{std::string(text)} : resolved(text), 0, sizeof(Data) + text.size()};
            put(std::move(node), anchor(s.anchor), event);
            return;
        }
        case YAML_ALIAS_EVENT: {
            const auto it = anchors_.find(anchor(event.data.alias.anchor));
            if (it == anchors_.end()) fail("there is no anchor of that name", event.start_mark);
            put(Node(it->second), "", event);
            return;
        }
        case YAML_SEQUENCE_START_EVENT: return open(false, anchor(event.data.sequence_start.anchor), event);
        case YAML_MAPPING_START_EVENT: return open(true, anchor(event.data.mapping_start.anchor), event);
        case YAML_SEQUENCE_END_EVENT:
        case YAML_MAPPING_END_EVENT: {
            Open closed = std::move(open_.back());
            open_.pop_back();
            put(std::move(closed.node), closed.anchor, event);
            return;
        }
        default: return;
        }
    }

    void open(bool map, std::string anchor, const yaml_event_t& event) {
        if (open_.size() >= max_data_depth) fail("it is nested too deeply", event.start_mark);
        Open opened;
        if (map) opened.node.data.value = Data::Object();
        else opened.node.data.value = Data::List();
        opened.node.height = 1;
        opened.node.bytes = sizeof(Data);
        opened.map = map;
        opened.anchor = std::move(anchor);
        open_.push_back(std::move(opened));
    }

    void put(Node node, const std::string& anchor, const yaml_event_t& event) {
        bytes_ += event.type == YAML_ALIAS_EVENT || event.type == YAML_SCALAR_EVENT ? node.bytes : 0;
        if (open_.size() + node.height > max_data_depth) fail("it is nested too deeply", event.start_mark);
        if (!anchor.empty()) {
            bytes_ += node.bytes;
            anchors_[anchor] = node;
        }
        if (bytes_ > max_expanded_bytes) fail("its aliases stand for too much", event.start_mark);
        if (open_.empty()) {
            root_ = std::move(node);
            return;
        }
        Open& parent = open_.back();
        if (!parent.map) {
            grow(parent.node, node);
            std::get<Data::List>(parent.node.data.value).push_back(std::move(node.data));
        } else if (!parent.has_key) {
            parent.has_key = true;
            auto key = key_text(node.data);
            parent.dropped = !key;
            parent.key = std::move(key).value_or("");
        } else {
            parent.has_key = false;
            if (parent.dropped) return;
            grow(parent.node, node);
            parent.node.bytes += parent.key.size();
            std::get<Data::Object>(parent.node.data.value).push_back({std::move(parent.key), std::move(node.data)});
        }
    }
    static void grow(Node& parent, const Node& child) {
        parent.height = std::max(parent.height, child.height + 1);
        parent.bytes += child.bytes;
    }

    yaml_parser_t parser_;
    std::vector<Open> open_;
    std::map<std::string, Node> anchors_;
    Node root_;
    std::size_t documents_ = 0, bytes_ = 0;
};

class Writer {
public:
    Writer(ScalarStyle style, bool flow) : style_(style), flow_(flow) {
        if (!yaml_emitter_initialize(&emitter_)) throw Error("there is no memory left");
        yaml_emitter_set_output(&emitter_, append, &out_);
        yaml_emitter_set_unicode(&emitter_, 1);
        yaml_emitter_set_width(&emitter_, -1);
    }
    ~Writer() { yaml_emitter_delete(&emitter_); }
    Writer(const Writer&) = delete;

    std::string write(const Data& data) {
        yaml_event_t event;
        emit(event, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING));
        emit(event, yaml_document_start_event_initialize(&event, nullptr, nullptr, nullptr, 1));
        node(data);
        emit(event, yaml_document_end_event_initialize(&event, 1));
        emit(event, yaml_stream_end_event_initialize(&event));
        if (out_.ends_with("\n...\n")) out_.resize(out_.size() - 4);   // an end that a lone scalar gets
        return std::move(out_);
    }

private:
    static int append(void* out, unsigned char* bytes, std::size_t size) {
        static_cast<std::string*>(out)->append(reinterpret_cast<const char*>(bytes), size);
        return 1;
    }
    void emit(yaml_event_t& event, int made) {
        if (!made) throw Error("a string is not in UTF-8");
        if (!yaml_emitter_emit(&emitter_, &event)) throw Error(emitter_.problem ? emitter_.problem : "it cannot be written");
    }

    void node(const Data& data) {   // as deep as the value is: its maker bounds it
        yaml_event_t event;
        if (const auto* list = data.as<Data::List>()) {
            emit(event, yaml_sequence_start_event_initialize(&event, nullptr, nullptr, 1, flow_ ? YAML_FLOW_SEQUENCE_STYLE : YAML_BLOCK_SEQUENCE_STYLE));
            for (const Data& d : *list) node(d);
            emit(event, yaml_sequence_end_event_initialize(&event));
        } else if (const auto* object = data.as<Data::Object>()) {
            emit(event, yaml_mapping_start_event_initialize(&event, nullptr, nullptr, 1, flow_ ? YAML_FLOW_MAPPING_STYLE : YAML_BLOCK_MAPPING_STYLE));
            for (const Field& f : *object) {
                scalar(f.key, true);
                node(f.data);
            }
            emit(event, yaml_mapping_end_event_initialize(&event));
        } else if (const auto* s = data.as<std::string>()) {
            scalar(*s, true);
        } else {
            scalar(text_of(data), false);
        }
    }

    static std::string text_of(const Data& data) {
        if (const auto* i = data.as<std::int64_t>()) return std::to_string(*i);
        if (const auto* b = data.as<bool>()) return *b ? "true" : "false";
        if (data.is_null()) return "null";
        const double d = *data.as<double>();
        if (std::isnan(d)) return ".nan";
        return std::isinf(d) ? (d < 0 ? "-.inf" : ".inf") : lang::float_text(d);
    }

    void scalar(const std::string& text, bool is_string) {
        // A string that would be read as something else is quoted.
        const bool plain = !is_string || resolved(text).as<std::string>();
        yaml_event_t event;
        emit(event, yaml_scalar_event_initialize(&event, nullptr, nullptr, reinterpret_cast<const yaml_char_t*>(text.data()), static_cast<int>(text.size()), plain, 1, style()));
    }
    yaml_scalar_style_t style() const {
        switch (style_) {
        case ScalarStyle::any: return YAML_ANY_SCALAR_STYLE;
        case ScalarStyle::plain: return YAML_PLAIN_SCALAR_STYLE;
        case ScalarStyle::single_quoted: return YAML_SINGLE_QUOTED_SCALAR_STYLE;
        case ScalarStyle::double_quoted: return YAML_DOUBLE_QUOTED_SCALAR_STYLE;
        case ScalarStyle::literal: return YAML_LITERAL_SCALAR_STYLE;
        case ScalarStyle::folded: return YAML_FOLDED_SCALAR_STYLE;
        }
        return YAML_ANY_SCALAR_STYLE;
    }

    yaml_emitter_t emitter_;
    std::string out_;
    ScalarStyle style_;
    bool flow_;
};

}  // namespace

Data read_yaml(std::string_view text) {
    if (text.size() > max_data_bytes) throw Error("it is longer than " + std::to_string(max_data_bytes) + " bytes");
    return Composer(text).compose();
}

std::string write_yaml(const Data& data, ScalarStyle style, bool flow) { return Writer(style, flow).write(data); }

}  // namespace castile::builtins
