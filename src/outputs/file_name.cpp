#include "outputs/file_name.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <system_error>

namespace castile {

namespace {

[[noreturn]] void fail(const std::string& path) { throw std::system_error(errno, std::generic_category(), path); }

std::string value_of(std::string_view label, const Metadata& metadata) {
    std::string value = metadata.get(label);
    for (char& c : value)
        if (c == '/' || c == '\0') c = '-';
    return value;
}

/// Reads the pieces of `$(if $(label),"then","else")`; every method moves on only when it matched.
class Reader {
public:
    explicit Reader(std::string_view text) : text_(text) {}
    std::size_t position() const { return position_; }
    bool take(std::string_view word) {
        if (!text_.substr(position_).starts_with(word)) return false;
        position_ += word.size();
        return true;
    }
    void spaces() {
        while (take(" ")) {
        }
    }
    std::optional<std::string_view> variable() {  // $(label)
        if (!text_.substr(position_).starts_with("$(")) return std::nullopt;
        const auto end = text_.find_first_of("()$", position_ + 2);
        if (end == text_.npos || text_[end] != ')' || end == position_ + 2) return std::nullopt;
        const auto label = text_.substr(position_ + 2, end - position_ - 2);
        position_ = end + 1;
        return label;
    }
    std::optional<std::string> in_quotes() {
        if (!take("\"")) return std::nullopt;
        std::string out;
        for (; position_ < text_.size(); ++position_) {
            if (text_[position_] == '"') {
                ++position_;
                return out;
            }
            if (text_[position_] == '\\' && position_ + 1 < text_.size()) ++position_;
            out += text_[position_];
        }
        return std::nullopt;
    }

private:
    std::string_view text_;
    std::size_t position_ = 0;
};

constexpr int deepest = 16;  // of conditions inside conditions

std::string interpolate(std::string_view text, const Metadata& metadata, int depth);

/// The chosen branch and how much of `text` it stood for; nothing when this is no condition.
std::optional<std::pair<std::string, std::size_t>> condition(std::string_view text, const Metadata& metadata, int depth) {
    Reader reader(text);
    if (depth >= deepest || !reader.take("$(if ")) return std::nullopt;
    reader.spaces();
    const auto label = reader.variable();
    reader.spaces();
    if (!label || !reader.take(",")) return std::nullopt;
    reader.spaces();
    auto yes = reader.in_quotes();
    if (!yes) return std::nullopt;
    std::optional<std::string> no;
    reader.spaces();
    if (reader.take(",")) {
        reader.spaces();
        no = reader.in_quotes();
        if (!no) return std::nullopt;
        reader.spaces();
    }
    if (!reader.take(")")) return std::nullopt;
    const std::string chosen = metadata.get(*label).empty() ? no.value_or("") : *yes;
    return std::pair(interpolate(chosen, metadata, depth + 1), reader.position());
}

std::string interpolate(std::string_view text, const Metadata& metadata, int depth) {
    std::string out;
    while (!text.empty()) {
        if (text.starts_with("\\$(")) {
            out += "$(";
            text.remove_prefix(3);
        } else if (auto found = condition(text, metadata, depth)) {
            out += found->first;
            text.remove_prefix(found->second);
        } else if (Reader reader(text); auto label = reader.variable()) {
            out += value_of(*label, metadata);
            text.remove_prefix(reader.position());
        } else {
            out += text.front();
            text.remove_prefix(1);
        }
    }
    return out;
}

}  // namespace

std::string expand_time(std::string_view pattern, double when) {
    if (pattern.find('%') == pattern.npos) return std::string(pattern);
    const auto seconds = static_cast<std::time_t>(when);
    std::tm local{};
    localtime_r(&seconds, &local);
    const std::string format = std::string(pattern) + "x";  // never empty, so that 0 means too small
    std::string out(pattern.size() * 4 + 256, '\0');
    const std::size_t size = std::strftime(out.data(), out.size(), format.c_str(), &local);
    if (size == 0) return std::string(pattern);
    out.resize(size - 1);
    return out;
}

std::string interpolate_metadata(std::string_view pattern, const Metadata& metadata) { return interpolate(pattern, metadata, 0); }

std::string expand_home(std::string path) {
    if (path != "~" && !path.starts_with("~/")) return path;
    const char* home = std::getenv("HOME");
    return home ? home + path.substr(1) : path;
}

std::string parent_folder(const std::string& path) {
    const auto slash = path.rfind('/');
    if (slash == path.npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

void make_folders(const std::string& folder, int mode) {
    if (folder.empty() || ::mkdir(folder.c_str(), static_cast<mode_t>(mode)) == 0) return;
    if (errno == EEXIST) {
        struct stat status;
        if (::stat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return;
        errno = ENOTDIR;
        fail(folder);
    }
    if (errno != ENOENT || parent_folder(folder) == folder || parent_folder(folder) == ".") fail(folder);
    make_folders(parent_folder(folder), mode);
    if (::mkdir(folder.c_str(), static_cast<mode_t>(mode)) != 0 && errno != EEXIST) fail(folder);
}

OpenFile::OpenFile(const std::string& path, int flags, int mode) : path_(path), descriptor_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {
    if (descriptor_ < 0) fail(path);
}

OpenFile& OpenFile::operator=(OpenFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
}

OpenFile::~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

void OpenFile::write_all(ByteSpan data) {
    while (!data.empty()) {
        const ssize_t done = ::write(descriptor_, data.data(), data.size());
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) fail(path_);
        data = data.subspan(static_cast<std::size_t>(done));
    }
}

void OpenFile::close() {
    const int descriptor = std::exchange(descriptor_, -1);
    if (descriptor >= 0 && ::close(descriptor) != 0) fail(path_);
}

namespace {

std::string hidden_name(const std::string& folder, const std::string& path) {
    const auto slash = path.rfind('/');
    return folder + "/." + (slash == path.npos ? path : path.substr(slash + 1)) + ".part";
}

void copy_file(const std::string& from, const std::string& to, int mode) {
    struct Descriptor {
        int value;
        ~Descriptor() { ::close(value); }
    };
    const Descriptor source{::open(from.c_str(), O_RDONLY | O_CLOEXEC)};
    if (source.value < 0) fail(from);
    OpenFile out(to, O_WRONLY | O_CREAT | O_TRUNC, mode);
    std::array<std::uint8_t, 32768> buffer;
    ssize_t got;
    while ((got = ::read(source.value, buffer.data(), buffer.size())) > 0) out.write_all({buffer.data(), static_cast<std::size_t>(got)});
    if (got < 0) fail(from);
    out.close();
}

}  // namespace

void move_file(const std::string& from, const std::string& to, int mode) {
    if (::rename(from.c_str(), to.c_str()) == 0) return;
    if (errno != EXDEV) fail(to);
    const std::string beside = hidden_name(parent_folder(to), to);
    copy_file(from, beside, mode);
    if (::rename(beside.c_str(), to.c_str()) != 0) fail(to);
    ::unlink(from.c_str());
}

void write_file_at_once(const std::string& path, std::string_view text, int mode, const std::string& temporary_folder) {
    const std::string hidden = hidden_name(temporary_folder.empty() ? parent_folder(path) : temporary_folder, path);
    try {
        OpenFile file(hidden, O_WRONLY | O_CREAT | O_TRUNC, mode);
        file.write_all({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
        file.close();
        move_file(hidden, path, mode);
    } catch (...) {
        ::unlink(hidden.c_str());
        throw;
    }
}

std::string read_small_file(const std::string& path, std::size_t limit) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return {};
    std::string text(limit, '\0');
    std::size_t size = 0;
    while (size < limit) {
        const ssize_t got = ::read(descriptor, text.data() + size, limit - size);
        if (got <= 0) break;
        size += static_cast<std::size_t>(got);
    }
    ::close(descriptor);
    text.resize(size);
    return text;
}

bool file_exists(const std::string& path) noexcept { return ::access(path.c_str(), F_OK) == 0; }

}  // namespace castile
