#pragma once
// What ends an operation: an exception with a sentence for the user. What a caller branches on is std::expected<T, Failure>.

#include <stdexcept>
#include <string>

namespace castile {

/// An operation that cannot go on (a failed start, a refused option). `what()` is one sentence for the user.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Why an open, decode, resolve or connect failed.
struct Failure {
    enum class Kind { not_found, denied, unsupported, invalid, timeout, refused, interrupted, other };
    Kind kind = Kind::other;
    std::string message;  ///< One sentence, with the path or address in it.
};

}  // namespace castile
