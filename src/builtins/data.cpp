// Trees of data, and JSON read into them.

#include "builtins/data.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace castile::builtins {

namespace {

/// What the library's parser reports, into the builder.
class JsonEvents {
public:
    explicit JsonEvents(DataBuilder& builder) : builder_(builder) {}
    bool null() { return add({}); }
    bool boolean(bool b) { return add({b}); }
    bool number_integer(std::int64_t i) { return add({i}); }
    bool number_unsigned(std::uint64_t u) {
        if (u > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return add({static_cast<double>(u)});
        return add({static_cast<std::int64_t>(u)});
    }
    bool number_float(double d, const std::string&) { return add({d}); }
    bool string(std::string& s) { return add({std::move(s)}); }
    bool binary(nlohmann::json::binary_t&) { return false; }
    bool start_object(std::size_t) { return begin(true); }
    bool key(std::string& k) {
        builder_.key(std::move(k));
        return true;
    }
    bool end_object() { return end(); }
    bool start_array(std::size_t) { return begin(false); }
    bool end_array() { return end(); }
    bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& e) {
        std::string_view message = e.what();
        message.remove_prefix(std::min(message.find("] ") + 2, message.size()));   // the library's own number
        if (message.starts_with("parse error at ")) message.remove_prefix(15);
        throw Error(std::string(message));
    }

private:
    bool add(Data data) {
        builder_.add(std::move(data));
        return true;
    }
    bool begin(bool object) {
        builder_.begin(object);
        return true;
    }
    bool end() {
        builder_.end();
        return true;
    }
    DataBuilder& builder_;
};

}  // namespace

const Data* Data::find(std::string_view key) const noexcept {
    if (const auto* object = as<Object>())
        for (const Field& f : *object)
            if (f.key == key) return &f.data;
    return nullptr;
}

void DataBuilder::add(Data data) {
    if (++nodes_ > max_data_nodes) throw Error("there are more than " + std::to_string(max_data_nodes) + " values");
    if (open_.empty()) {
        whole_ = std::move(data);
        return;
    }
    Open& parent = open_.back();
    if (auto* list = std::get_if<Data::List>(&parent.data.value)) list->push_back(std::move(data));
    else std::get<Data::Object>(parent.data.value).push_back({std::move(parent.key), std::move(data)});
}

void DataBuilder::begin(bool object) {
    if (open_.size() >= max_data_depth) throw Error("it is nested more than " + std::to_string(max_data_depth) + " deep");
    Open opened;
    if (object) opened.data.value = Data::Object();
    else opened.data.value = Data::List();
    open_.push_back(std::move(opened));
}

void DataBuilder::key(std::string key) { open_.back().key = std::move(key); }

void DataBuilder::end() {
    Data data = std::move(open_.back().data);
    open_.pop_back();
    add(std::move(data));
}

Data DataBuilder::take() { return std::move(whole_); }

Data read_json(std::string_view text) {
    if (text.size() > max_data_bytes) throw Error("it is longer than " + std::to_string(max_data_bytes) + " bytes");
    if (text.empty()) throw Error("line 1, column 1: the text ends too early");  // the library's words for it depend on its version
    DataBuilder builder;
    JsonEvents events(builder);
    nlohmann::json::sax_parse(text.begin(), text.end(), &events);
    return builder.take();
}

}  // namespace castile::builtins
