#pragma once
// Data as JSON and YAML say it: a tree between text and the script's values. Readers of text from anywhere: what is too
// large or too deep is refused.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace castile::builtins {

struct Field;

struct Data {
    using List = std::vector<Data>;
    using Object = std::vector<Field>;   ///< in the order of the text; a key may come twice
    std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Object> value;

    bool is_null() const noexcept { return value.index() == 0; }
    template <class T> const T* as() const noexcept { return std::get_if<T>(&value); }
    const Data* find(std::string_view key) const noexcept;   ///< the first of that key; nullptr when this is no object or has none
};
struct Field {
    std::string key;
    Data data;
};

inline constexpr std::size_t max_data_depth = 500;        // of lists and objects in each other
inline constexpr std::size_t max_data_bytes = 64u << 20;  // of text
inline constexpr std::size_t max_data_nodes = 4'000'000;

/// Makes a tree of what a reader meets. Throws Error beyond the limits.
class DataBuilder {
public:
    void add(Data data);
    void begin(bool object);
    void key(std::string key);
    void end();
    Data take();   ///< the whole, once all that began has ended

private:
    struct Open { Data data; std::string key; };
    std::vector<Open> open_;
    Data whole_;
    std::size_t nodes_ = 0;
};

// All throw Error, which says what is wrong and where.
Data read_json(std::string_view text);
Data read_json5(std::string_view text);
Data read_yaml(std::string_view text);

enum class ScalarStyle { any, plain, single_quoted, double_quoted, literal, folded };
/// Throws Error when a string is no UTF-8.
std::string write_yaml(const Data& data, ScalarStyle style, bool flow);

}  // namespace castile::builtins
