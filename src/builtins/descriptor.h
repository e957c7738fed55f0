#pragma once
// Files and sockets in the hands of a script: values of type `socket`.

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "lang/builtin.h"

namespace castile::builtins {

/// An open file descriptor. Any thread: a call in progress keeps it open while another closes it.
class Descriptor {
public:
    enum class Kind { file, socket };
    /// Takes the descriptor over; `lasting`: it is never closed by us (standard output).
    Descriptor(int fd, Kind kind, bool lasting = false);

    /// What is there, at most 64 KiB; "" at the end. Waits `timeout` seconds at most; negative: as long as it takes.
    std::string read(double timeout);
    void write(const std::string& data, double timeout);
    bool closed() const;
    void close();
    void set_non_blocking(bool on);
    void wait(bool writing, double timeout, lang::Value callback);   ///< then calls it
    int fd() const;    ///< Throws RuntimeError when it is closed.

private:
    struct Owned {
        int fd;
        bool lasting;
        ~Owned();
    };
    std::shared_ptr<Owned> use() const;

    mutable std::mutex fd_mutex_;
    std::shared_ptr<Owned> owned_;
    Kind kind_;
};

/// A value with the methods `descriptor_methods`.
lang::Value descriptor_value(const std::shared_ptr<Descriptor>& descriptor);
const std::vector<lang::BuiltinMethod>& descriptor_methods();
const std::string& descriptor_type();   ///< "socket.{...}"
/// The labelled argument, else `otherwise`; null is negative.
double timeout_argument(std::span<const lang::CallArgument> arguments, double otherwise);
/// The first argument without a label.
const lang::Value& first_argument(std::span<const lang::CallArgument> arguments);

}  // namespace castile::builtins
