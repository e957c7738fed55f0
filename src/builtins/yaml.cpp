// YAML: values as text, text as values of a wanted type.

#include <array>

#include "base/error.h"
#include "builtins/data_values.h"
#include "builtins/define.h"

namespace castile::builtins {

namespace {

Value decode(const lang::Shape& shape, std::span<const CallArgument>, const Value& input) {
    auto value = [&] {
        try {
            return from_data(read_yaml(input.as_string()), shape);
        } catch (const Error& e) {
            raise("yaml", std::string("Parse error: ") + e.what());
        }
    }();
    if (!value) raise("yaml", "Parse error: yaml value cannot be parsed as type: " + value.error());
    return std::move(*value);
}

ScalarStyle scalar_style(const std::string& name) {
    static constexpr std::array<std::pair<std::string_view, ScalarStyle>, 6> styles{{{"any", ScalarStyle::any}, {"plain", ScalarStyle::plain},
        {"single_quoted", ScalarStyle::single_quoted}, {"double_quoted", ScalarStyle::double_quoted}, {"literal", ScalarStyle::literal}, {"folded", ScalarStyle::folded}}};
    for (const auto& [n, style] : styles)
        if (n == name) return style;
    raise("yaml", "Invalid scalar style: " + name);
}

Value stringify(const BuiltinArgs& a) {
    const ScalarStyle style = scalar_style(a[0].as_string());
    const std::string& layout = a[1].as_string();
    if (layout != "any" && layout != "block" && layout != "flow") raise("yaml", "Invalid layout style: " + layout);
    const Data data = to_data(a[2], "yaml");
    try {
        return text(write_yaml(data, style, layout == "flow"));
    } catch (const Error& e) {
        raise("yaml", "Value " + lang::to_string(a[2], true) + " cannot be represented as yaml: " + e.what() + ".");
    }
}

const lang::RegisterDecoder yaml_decoder("yaml.parse", decode);

const Definitions definitions("String", {
    {"yaml.stringify", "A value as YAML. Functions and sources raise an error of kind `yaml`.",
     {opt("scalar_style", "string", "\"any\"", "How texts are written: \"any\", \"plain\", \"single_quoted\", \"double_quoted\", \"literal\" or \"folded\"."),
      opt("layout_style", "string", "\"any\"", "How lists and records are laid out: \"any\", \"block\" (a line an item) or \"flow\" (in brackets)."), pos("'a")},
     "string", stringify},
});

}  // namespace

}  // namespace castile::builtins
