#pragma once
// Names of files that an output makes, and plain file calls with errors that name the path.

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "frame/metadata.h"

namespace castile {

/// strftime conversions (%Y, %m, ...) of local time at `when` (seconds since the epoch); text without a `%` is unchanged.
std::string expand_time(std::string_view pattern, double when);

/// `$(title)` is the value of that label (empty when there is none), with every / made a - so that it stays one name;
/// `$(if $(title),"yes","no")` chooses; `\$(title)` is left as it is.
std::string interpolate_metadata(std::string_view pattern, const Metadata& metadata);

/// A leading ~ is the user's home.
std::string expand_home(std::string path);

std::string parent_folder(const std::string& path);

// These throw std::system_error, whose what() names the path and the reason. Blocking.
void make_folders(const std::string& folder, int mode);
/// Owns the descriptor. write_all() is short of the whole only by an exception.
class OpenFile {
public:
    OpenFile() noexcept = default;
    OpenFile(const std::string& path, int flags, int mode);
    OpenFile(OpenFile&& other) noexcept : path_(std::move(other.path_)), descriptor_(other.descriptor_) { other.descriptor_ = -1; }
    OpenFile& operator=(OpenFile&& other) noexcept;
    ~OpenFile();
    explicit operator bool() const noexcept { return descriptor_ >= 0; }
    const std::string& path() const noexcept { return path_; }
    void write_all(ByteSpan data);
    void close();  ///< Throws what only close() reports (a network file system out of space).

private:
    std::string path_;
    int descriptor_ = -1;
};
/// Rename, or copy and remove when the two are on different file systems (then to a name beside the target first).
void move_file(const std::string& from, const std::string& to, int mode);
/// The file is never seen half written: a hidden one is written in `temporary_folder` (empty: beside it), then renamed.
void write_file_at_once(const std::string& path, std::string_view text, int mode, const std::string& temporary_folder = {});
/// At most `limit` bytes; empty when the file cannot be read.
std::string read_small_file(const std::string& path, std::size_t limit = 1 << 20);
bool file_exists(const std::string& path) noexcept;

}  // namespace castile
