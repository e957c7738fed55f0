// Operators and numbers.

#include <cmath>
#include <limits>
#include <random>

#include "builtins/define.h"

namespace castile::builtins {

namespace {

constexpr const char* numeric = "'a where 'a is a number type";
constexpr const char* compared = "bool where 'a is an orderable type";

bool floats(const Value& a, const Value& b) {
    return a.kind() == Value::Kind::floating || b.kind() == Value::Kind::floating;
}

bool is_nan(const Value& v) { return v.kind() == Value::Kind::floating && std::isnan(v.as_float()); }
/// Nothing equals, precedes or follows what is not a number.
bool unordered(const BuiltinArgs& a) { return is_nan(a[0]) || is_nan(a[1]); }

// Integers wrap around: unsigned arithmetic says so without undefined behaviour.
std::int64_t wrapped(std::uint64_t u) { return static_cast<std::int64_t>(u); }
std::uint64_t bits(const Value& v) { return static_cast<std::uint64_t>(v.as_int()); }

std::int64_t divide(std::int64_t a, std::int64_t b) {
    if (b == 0) raise("invalid", "Division by zero.");
    return b == -1 ? wrapped(-static_cast<std::uint64_t>(a)) : a / b;
}

std::int64_t remainder(std::int64_t a, std::int64_t b) {
    if (b == 0) raise("invalid", "Division by zero.");
    return b == -1 ? 0 : a % b;
}

std::int64_t power(std::int64_t base, std::int64_t exponent) {
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
    std::uint64_t result = 1, factor = static_cast<std::uint64_t>(base);
    for (; exponent > 0; exponent >>= 1, factor *= factor)
        if (exponent & 1) result *= factor;
    return wrapped(result);
}

std::int64_t to_integer(double d) {
    if (std::isnan(d)) return 0;
    if (d >= 9.2e18) return std::numeric_limits<std::int64_t>::max();
    if (d <= -9.2e18) return std::numeric_limits<std::int64_t>::min();
    return static_cast<std::int64_t>(d);
}

template <double (*F)(double)> Value apply(const BuiltinArgs& a) { return number(F(a[0].as_float())); }

std::mt19937_64& generator() {
    thread_local std::mt19937_64 generator{std::random_device{}()};
    return generator;
}

double truncated(const BuiltinArgs& a) {
    double scale = std::pow(10., static_cast<double>(a[0].as_int())), x = a[2].as_float() * scale;
    const std::string& mode = a[1].as_string();
    return (mode == "floor" ? std::floor(x) : mode == "ceil" ? std::ceil(x) : std::round(x)) / scale;
}

const Definitions operators("Math", {
    {"+", "Addition.", {pos("'a"), pos("'a")}, numeric, [](const BuiltinArgs& a) {
        return floats(a[0], a[1]) ? number(a[0].as_float() + a[1].as_float()) : integer(wrapped(bits(a[0]) + bits(a[1]))); }},
    {"-", "Subtraction.", {pos("'a"), pos("'a")}, numeric, [](const BuiltinArgs& a) {
        return floats(a[0], a[1]) ? number(a[0].as_float() - a[1].as_float()) : integer(wrapped(bits(a[0]) - bits(a[1]))); }},
    {"*", "Multiplication.", {pos("'a"), pos("'a")}, numeric, [](const BuiltinArgs& a) {
        return floats(a[0], a[1]) ? number(a[0].as_float() * a[1].as_float()) : integer(wrapped(bits(a[0]) * bits(a[1]))); }},
    {"/", "Division; of integers, without the remainder.", {pos("'a"), pos("'a")}, numeric, [](const BuiltinArgs& a) {
        return floats(a[0], a[1]) ? number(a[0].as_float() / a[1].as_float()) : integer(divide(a[0].as_int(), a[1].as_int())); }},
    {"mod", "Remainder of a division, with the sign of the dividend.", {pos("'a"), pos("'a")}, numeric, [](const BuiltinArgs& a) {
        return floats(a[0], a[1]) ? number(std::fmod(a[0].as_float(), a[1].as_float())) : integer(remainder(a[0].as_int(), a[1].as_int())); }},
    {"pow", "Power.", {pos("'a"), pos("'a")}, numeric, [](const BuiltinArgs& a) {
        return floats(a[0], a[1]) ? number(std::pow(a[0].as_float(), a[1].as_float())) : integer(power(a[0].as_int(), a[1].as_int())); }},
    {"~-", "Opposite of a number.", {pos("'a")}, numeric, [](const BuiltinArgs& a) {
        return a[0].kind() == Value::Kind::floating ? number(-a[0].as_float()) : integer(wrapped(-bits(a[0]))); }},
    {"+.", "Addition of floats.", {pos("float"), pos("float")}, "float", [](const BuiltinArgs& a) { return number(a[0].as_float() + a[1].as_float()); }},
    {"-.", "Subtraction of floats.", {pos("float"), pos("float")}, "float", [](const BuiltinArgs& a) { return number(a[0].as_float() - a[1].as_float()); }},
    {"*.", "Multiplication of floats.", {pos("float"), pos("float")}, "float", [](const BuiltinArgs& a) { return number(a[0].as_float() * a[1].as_float()); }},
    {"/.", "Division of floats.", {pos("float"), pos("float")}, "float", [](const BuiltinArgs& a) { return number(a[0].as_float() / a[1].as_float()); }},
    {"abs", "Absolute value.", {pos("'a")}, numeric, [](const BuiltinArgs& a) {
        if (a[0].kind() == Value::Kind::floating) return number(std::fabs(a[0].as_float()));
        return integer(a[0].as_int() < 0 ? wrapped(-bits(a[0])) : a[0].as_int()); }},
    {"lsl", "Shift bits to the left.", {pos("int", "Number to shift."), pos("int", "Number of bits.")}, "int", [](const BuiltinArgs& a) {
        std::int64_t n = a[1].as_int();
        return integer(n < 0 || n > 63 ? 0 : wrapped(bits(a[0]) << n)); }},
    {"lsr", "Shift bits to the right, filling with zeros.", {pos("int", "Number to shift."), pos("int", "Number of bits.")}, "int", [](const BuiltinArgs& a) {
        std::int64_t n = a[1].as_int();
        return integer(n < 0 || n > 63 ? 0 : wrapped(bits(a[0]) >> n)); }},
});

const Definitions comparisons("Bool", {
    {"==", "Are two values equal?", {pos("'a"), pos("'a")}, compared, [](const BuiltinArgs& a) { return boolean(!unordered(a) && lang::compare(a[0], a[1]) == 0); }},
    {"!=", "Are two values different?", {pos("'a"), pos("'a")}, compared, [](const BuiltinArgs& a) { return boolean(unordered(a) || lang::compare(a[0], a[1]) != 0); }},
    {"<", "Is the first value less than the second?", {pos("'a"), pos("'a")}, compared, [](const BuiltinArgs& a) { return boolean(!unordered(a) && lang::compare(a[0], a[1]) < 0); }},
    {"<=", "Is the first value at most the second?", {pos("'a"), pos("'a")}, compared, [](const BuiltinArgs& a) { return boolean(!unordered(a) && lang::compare(a[0], a[1]) <= 0); }},
    {">", "Is the first value greater than the second?", {pos("'a"), pos("'a")}, compared, [](const BuiltinArgs& a) { return boolean(!unordered(a) && lang::compare(a[0], a[1]) > 0); }},
    {">=", "Is the first value at least the second?", {pos("'a"), pos("'a")}, compared, [](const BuiltinArgs& a) { return boolean(!unordered(a) && lang::compare(a[0], a[1]) >= 0); }},
    {"not", "Negation.", {pos("bool")}, "bool", [](const BuiltinArgs& a) { return boolean(!a[0].as_bool()); }},
    {"bool_of_int", "Is the number 1?", {pos("int")}, "bool", [](const BuiltinArgs& a) { return boolean(a[0].as_int() == 1); }},
    {"bool_of_float", "Is the number 1?", {pos("float")}, "bool", [](const BuiltinArgs& a) { return boolean(a[0].as_float() == 1); }},
});

const Definitions functions("Math", {
    {"sqrt", "Square root.", {pos("float")}, "float", apply<std::sqrt>},
    {"exp", "Exponential.", {pos("float")}, "float", apply<std::exp>},
    {"ln", "Natural logarithm.", {pos("float")}, "float", apply<std::log>},
    {"log10", "Logarithm in base 10.", {pos("float")}, "float", apply<std::log10>},
    {"sin", "Sine, of radians.", {pos("float")}, "float", apply<std::sin>},
    {"cos", "Cosine, of radians.", {pos("float")}, "float", apply<std::cos>},
    {"tan", "Tangent, of radians.", {pos("float")}, "float", apply<std::tan>},
    {"asin", "Arc sine, in radians.", {pos("float")}, "float", apply<std::asin>},
    {"acos", "Arc cosine, in radians.", {pos("float")}, "float", apply<std::acos>},
    {"atan", "Arc tangent, in radians.", {pos("float")}, "float", apply<std::atan>},
    {"sinh", "Hyperbolic sine.", {pos("float")}, "float", apply<std::sinh>},
    {"cosh", "Hyperbolic cosine.", {pos("float")}, "float", apply<std::cosh>},
    {"tanh", "Hyperbolic tangent.", {pos("float")}, "float", apply<std::tanh>},
    {"floor", "Greatest integer not above a number.", {pos("float")}, "float", apply<std::floor>},
    {"ceil", "Least integer not below a number.", {pos("float")}, "float", apply<std::ceil>},
    {"round", "Nearest integer.", {pos("float")}, "float", apply<std::round>},
    {"sign", "Sign of a number: 1. or -1.", {pos("float")}, "float", [](const BuiltinArgs& a) {
        double x = a[0].as_float();
        return number(x < 0 || (x == 0 && std::signbit(x)) ? -1 : 1); }},
    {"dB_of_lin", "An amplitude in decibels.", {pos("float")}, "float", [](const BuiltinArgs& a) { return number(20 * std::log10(a[0].as_float())); }},
    {"lin_of_dB", "Decibels as an amplitude.", {pos("float")}, "float", [](const BuiltinArgs& a) { return number(std::pow(10, a[0].as_float() / 20)); }},
    {"float", "A number as a float.", {pos("'a")}, "float where 'a is a number type", [](const BuiltinArgs& a) { return number(a[0].as_float()); }},
    {"int", "A number as an integer, without its decimals.", {pos("'a"), opt("raise", "bool", "false", "Raise an error of kind `invalid` for what is infinite or no number?")},
     "int where 'a is a number type", [](const BuiltinArgs& a) {
        if (a[0].kind() == Value::Kind::integer) return integer(a[0].as_int());
        double d = a[0].as_float();
        if (a[1].as_bool() && !std::isfinite(d)) raise("invalid", std::isnan(d) ? "What is no number has no integer." : "What is infinite has no integer.");
        return integer(to_integer(d)); }},
    {"int_of_float", "Drop the decimals.", {pos("float")}, "int", [](const BuiltinArgs& a) { return integer(to_integer(a[0].as_float())); }},
    {"float_of_int", "An integer as a float.", {pos("int")}, "float", [](const BuiltinArgs& a) { return number(a[0].as_float()); }},
    {"float.is_nan", "Is it not a number?", {pos("float")}, "bool", [](const BuiltinArgs& a) { return boolean(std::isnan(a[0].as_float())); }},
    {"float.is_infinite", "Is it infinite?", {pos("float")}, "bool", [](const BuiltinArgs& a) { return boolean(std::isinf(a[0].as_float())); }},
    {"float.truncate", "A number with some decimals.",
     {opt("digits", "int", "0", "Decimals to keep."), opt("mode", "string", "\"default\"", "\"floor\" (down), \"ceil\" (up) or \"default\" (to the nearest)."), pos("float")},
     "float", [](const BuiltinArgs& a) { return number(truncated(a)); }},
    {"min", "The lesser of two values.", {pos("'a"), pos("'a")}, "'a where 'a is an orderable type", [](const BuiltinArgs& a) { return !unordered(a) && lang::compare(a[0], a[1]) <= 0 ? a[0] : a[1]; }},
    {"max", "The greater of two values.", {pos("'a"), pos("'a")}, "'a where 'a is an orderable type", [](const BuiltinArgs& a) { return !unordered(a) && lang::compare(a[0], a[1]) >= 0 ? a[0] : a[1]; }},
    {"random.float", "A random number.", {opt("min", "float", "-1000000.", "Least."), opt("max", "float", "1000000.", "Greatest.")}, "float", [](const BuiltinArgs& a) {
        double low = a[0].as_float(), high = a[1].as_float();
        return number(low >= high ? low : std::uniform_real_distribution(low, high)(generator())); }},
    {"random.int", "A random integer, at least `min` and below `max`.", {opt("min", "int", "-1000000", "Least."), opt("max", "int", "1000000", "One above the greatest.")}, "int",
     [](const BuiltinArgs& a) {
        std::int64_t low = a[0].as_int(), high = a[1].as_int();
        return integer(low >= high ? low : std::uniform_int_distribution<std::int64_t>(low, high - 1)(generator())); }},
    {"random.bool", "True half of the time.", {}, "bool", [](const BuiltinArgs&) { return boolean(generator()() & 1); }},
});

const Constants constants("Math", {
    {"infinity", "More than any number.", "float", [] { return number(std::numeric_limits<double>::infinity()); }},
    {"nan", "Not a number.", "float", [] { return number(std::numeric_limits<double>::quiet_NaN()); }},
    {"max_int", "The greatest integer.", "int", [] { return integer(std::numeric_limits<std::int64_t>::max()); }},
    {"min_int", "The least integer.", "int", [] { return integer(std::numeric_limits<std::int64_t>::min()); }},
    {"math.pi", "Half a turn.", "float", [] { return number(M_PI); }},
});

}  // namespace

}  // namespace castile::builtins
