// Files, folders and paths.

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>

#include "builtins/define.h"
#include "builtins/encodings.h"
#include "builtins/paths.h"
#include "base/sandbox.h"

namespace castile::builtins {

std::string expanded(const std::string& path) {
    if (path != "~" && !path.starts_with("~/")) return path;
    const char* home = std::getenv("HOME");
    return home ? home + path.substr(1) : path;
}

namespace {

namespace fs = std::filesystem;

[[noreturn]] void failed(const std::string& what, const std::string& path, int error) {
    raise(error == EXDEV ? "file.cross_device" : "file", what + " " + path + ": " + std::strerror(error) + ".");
}

std::string read_all(const std::string& path) {
    std::error_code is_folder;
    std::ifstream in(expanded(path), std::ios::binary);
    if (!in || fs::is_directory(expanded(path), is_folder)) failed("Cannot read", path, is_folder ? errno : in ? EISDIR : errno);
    std::ostringstream out;
    out << in.rdbuf();
    return std::move(out).str();
}

std::vector<std::string> lines_of(const std::string& path) {
    std::string all = read_all(path), line;
    std::vector<std::string> lines;
    std::istringstream in(all);
    while (std::getline(in, line)) lines.push_back(line);
    if (all.empty() || all.back() == '\n') lines.emplace_back();   // as splitting at each newline gives
    return lines;
}

/// What a string? getter gives, piece by piece, until it gives nothing.
std::string data_of(const Value& getter) {
    if (getter.kind() != Value::Kind::function) return getter.is_null() ? "" : getter.as_string();
    std::string all;
    for (;;) {
        Value part = getter.get();
        if (part.is_null() || part.as_string().empty()) return all;
        all += part.as_string();
    }
}

void write_all(const std::string& path, const std::string& data, int flags, mode_t mode) {
    int fd = open(path.c_str(), flags | O_CREAT | O_WRONLY | O_CLOEXEC, mode);
    if (fd < 0) failed("Cannot write", path, errno);
    std::size_t done = 0;
    while (done < data.size()) {
        ssize_t n = ::write(fd, data.data() + done, data.size() - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            int error = errno;
            close(fd);
            failed("Cannot write", path, error);
        }
        done += static_cast<std::size_t>(n);
    }
    if (close(fd) != 0) failed("Cannot write", path, errno);
}

struct WriteOptions { mode_t perms; bool append, atomic; };

/// Atomic: beside the target, then renamed, so that a reader sees the old file or the new one.
void write_file(const std::string& name, const std::string& data, WriteOptions options) {
    std::string path = expanded(name);
    if (!options.atomic) return write_all(path, data, options.append ? O_APPEND : O_TRUNC, options.perms);
    static std::atomic<unsigned> counter = 0;
    std::string staged = path + ".new-" + std::to_string(getpid()) + "-" + std::to_string(counter++);
    std::error_code missing;
    std::string before = options.append && fs::exists(path, missing) ? read_all(path) : "";
    try {
        write_all(staged, before + data, O_EXCL, options.perms);
    } catch (...) {
        unlink(staged.c_str());
        throw;
    }
    if (rename(staged.c_str(), path.c_str()) != 0) {
        int error = errno;
        unlink(staged.c_str());
        failed("Cannot write", path, error);
    }
}

Value write_stream(const BuiltinArgs& a) {
    struct Stream {
        std::mutex data_mutex;
        std::string data;
        bool done = false;
    };
    auto stream = std::make_shared<Stream>();
    WriteOptions options{static_cast<mode_t>(a[0].as_int()), a[1].as_bool(), a[2].as_bool()};
    return native([stream, options, path = a[4].as_string()](std::span<const CallArgument> x) {
        std::lock_guard lock(stream->data_mutex);
        std::string part = x[0].value.is_null() ? "" : x[0].value.as_string();
        stream->data += part;
        if (part.empty() && !std::exchange(stream->done, true)) write_file(path, std::exchange(stream->data, {}), options);
        return Value();
    });
}

std::vector<std::string> list_folder(const fs::path& folder, const std::string& prefix, const char* pattern, bool recursive) {
    std::vector<std::string> found;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        std::string name = entry.path().filename().string(), relative = prefix.empty() ? name : prefix + "/" + name;
        if (!pattern || fnmatch(pattern, name.c_str(), 0) == 0) found.push_back(relative);
        std::error_code unreadable;
        if (recursive && entry.is_directory(unreadable) && !entry.is_symlink(unreadable))
            std::ranges::move(list_folder(entry.path(), relative, pattern, true), std::back_inserter(found));
    }
    return found;
}

Value list_files(const BuiltinArgs& a) {
    fs::path folder = expanded(a[4].as_string());
    auto pattern = optional_text(a[2]);
    std::vector<std::string> names = list_folder(folder, "", pattern ? pattern->c_str() : nullptr, a[1].as_bool());
    if (a[0].as_bool())
        for (std::string& n : names) n = (folder / n).string();
    if (a[3].as_bool()) std::ranges::sort(names);
    return strings(names);
}

/// From the last dot of the last part of a path on, unless that part begins with it.
std::string extension(const std::string& path, bool dot, const std::string& separator) {
    std::size_t name = separator.empty() ? path.npos : path.rfind(separator);
    name = name == path.npos ? 0 : name + separator.size();
    const std::size_t i = path.rfind('.');
    if (i == path.npos || i <= name || path.find_first_not_of('.', name) >= i) return "";
    return path.substr(dot ? i : i + 1);
}

std::string temporary(std::string folder, const std::string& prefix, const std::string& suffix, bool is_folder) {
    if (folder.empty()) folder = fs::temp_directory_path().string();
    std::string path = folder + "/" + prefix + "XXXXXX" + (is_folder ? "" : suffix);
    if (is_folder) {
        if (!mkdtemp(path.data())) failed("Cannot make a folder in", folder, errno);
        if (suffix.empty()) return path;
        std::string named = path + suffix;
        if (rename(path.c_str(), named.c_str()) != 0) failed("Cannot make a folder in", folder, errno);
        return named;
    }
    int fd = mkstemps(path.data(), static_cast<int>(suffix.size()));
    if (fd < 0) failed("Cannot make a file in", folder, errno);
    close(fd);
    return path;
}

/// Removed when the program ends.
void clean_up(const std::string& path) {
    struct List {
        std::mutex paths_mutex;
        std::vector<std::string> paths;
        ~List() {
            std::error_code ignored;
            for (const std::string& p : paths) fs::remove_all(p, ignored);
        }
    };
    static List list;
    std::lock_guard lock(list.paths_mutex);
    list.paths.push_back(path);
}

const std::pair<const char*, const char*> mime_types[] = {
    {"mp3", "audio/mpeg"}, {"ogg", "audio/ogg"}, {"oga", "audio/ogg"}, {"opus", "audio/ogg"}, {"flac", "audio/flac"}, {"wav", "audio/x-wav"}, {"aac", "audio/aac"},
    {"m4a", "audio/mp4"}, {"mp4", "video/mp4"}, {"mkv", "video/x-matroska"}, {"webm", "video/webm"}, {"ts", "video/mp2t"}, {"aiff", "audio/x-aiff"}, {"wma", "audio/x-ms-wma"},
    {"m3u", "audio/x-mpegurl"}, {"m3u8", "application/vnd.apple.mpegurl"}, {"pls", "audio/x-scpls"}, {"xspf", "application/xspf+xml"}, {"asx", "video/x-ms-asf"}, {"cue", "application/x-cue"},
    {"txt", "text/plain"}, {"html", "text/html"}, {"css", "text/css"}, {"js", "text/javascript"}, {"json", "application/json"}, {"xml", "application/xml"}, {"liq", "text/plain"},
    {"png", "image/png"}, {"jpg", "image/jpeg"}, {"jpeg", "image/jpeg"}, {"gif", "image/gif"}, {"webp", "image/webp"}, {"svg", "image/svg+xml"}, {"pdf", "application/pdf"},
    {"mid", "audio/midi"},
};

std::optional<std::string> mime_by_extension(const std::string& path) {
    std::string e = extension(path, false, "/");
    std::ranges::transform(e, e.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    for (const auto& [known, type] : mime_types)
        if (e == known) return type;
    return std::nullopt;
}

std::optional<std::string> mime_by_content(const std::string& path) {
    std::ifstream in(expanded(path), std::ios::binary);
    char head[32] = {};
    in.read(head, sizeof head);
    std::string_view s(head, static_cast<std::size_t>(in.gcount()));
    if (s.starts_with("ID3") || s.starts_with("\xff\xfb") || s.starts_with("\xff\xf3")) return "audio/mpeg";
    if (s.starts_with("OggS")) return "audio/ogg";
    if (s.starts_with("fLaC")) return "audio/flac";
    if (s.starts_with("RIFF") && s.substr(8).starts_with("WAVE")) return "audio/x-wav";
    if (s.starts_with("\x89PNG")) return "image/png";
    if (s.starts_with("\xff\xd8\xff")) return "image/jpeg";
    if (s.starts_with("GIF8")) return "image/gif";
    if (s.starts_with("%PDF")) return "application/pdf";
    if (s.size() > 8 && s.substr(4).starts_with("ftyp")) return "video/mp4";
    return std::nullopt;
}

Value mime(const BuiltinArgs& a) {
    auto type = mime_by_content(a[0].as_string());
    if (!type) type = mime_by_extension(a[0].as_string());
    return type ? text(*type) : Value::null();
}

/// All zero when it cannot be looked at.
struct stat status(const std::string& path) {
    struct stat s {};
    if (stat(expanded(path).c_str(), &s) != 0) return {};
    return s;
}

Value which(const BuiltinArgs& a) {
    std::string path = find_program(a[0].as_string());
    return path.empty() ? Value::null() : text(path);
}

/// What cannot be made is left: scripts do not expect an error.
void make_folder(const std::string& path, bool parents, mode_t perms) {
    const std::string parent = fs::path(path).parent_path().string();
    std::error_code error;
    if (parents && !parent.empty() && parent != path && !fs::exists(parent, error)) make_folder(parent, true, perms);
    mkdir(path.c_str(), perms);
}

/// Times and owner too.
void copy_attributes(const fs::path& from, const fs::path& to) {
    std::error_code error;
    struct stat s {};
    if (lstat(from.c_str(), &s) != 0) return;
    const timespec times[] = {s.st_atim, s.st_mtim};
    utimensat(AT_FDCWD, to.c_str(), times, AT_SYMLINK_NOFOLLOW);
    if (lchown(to.c_str(), s.st_uid, s.st_gid) != 0) return;   // only root may; the copy is good all the same
    if (fs::is_directory(from, error) && !fs::is_symlink(from, error))
        for (const auto& entry : fs::directory_iterator(from, error)) copy_attributes(entry.path(), to / entry.path().filename());
}

Value copy_or_move(const BuiltinArgs& a, bool move) {
    std::string from = expanded(a[a.size() - 2].as_string()), to = expanded(a[a.size() - 1].as_string());
    bool atomic = move && a[1].as_bool(), force = a[move ? 0 : 1].as_bool() || atomic;
    std::error_code error;
    if (!atomic && fs::is_directory(to, error)) to += "/" + (fs::path(from) / "").parent_path().filename().string();
    error.clear();
    if (!force && fs::exists(to, error)) return Value();   // as when the answer to "overwrite?" is no
    error.clear();
    if (move) {
        fs::rename(from, to, error);
        if (error.value() == EXDEV && !atomic) {
            error.clear();
            fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::overwrite_existing, error);
            std::error_code ignored;
            if (!error) fs::remove_all(from, ignored);
        }
    } else {
        if (!a[0].as_bool() && fs::is_directory(from, error)) failed("Cannot copy", from, EISDIR);
        auto options = fs::copy_options::overwrite_existing;
        if (a[0].as_bool()) options |= fs::copy_options::recursive | fs::copy_options::copy_symlinks;
        fs::copy(from, to, options, error);
        if (!error && a[2].as_bool()) copy_attributes(from, to);
    }
    if (error) failed(move ? "Cannot move" : "Cannot copy", from, error.value());
    return Value();
}

Value remove_file(const BuiltinArgs& a) {
    unlink(expanded(a[0].as_string()).c_str());   // what cannot be removed stays: scripts do not expect an error
    return Value();
}

Value reader(const BuiltinArgs& a) {
    struct Reader {
        std::mutex file_mutex;
        std::ifstream in;
    };
    auto r = std::make_shared<Reader>();
    r->in.open(expanded(a[0].as_string()), std::ios::binary);
    if (!r->in) failed("Cannot read", a[0].as_string(), errno);
    Value read = native([r](std::span<const CallArgument>) {
        std::lock_guard lock(r->file_mutex);
        std::string part(65536, '\0');
        r->in.read(part.data(), static_cast<std::streamsize>(part.size()));
        part.resize(static_cast<std::size_t>(r->in.gcount()));
        return text(std::move(part));
    });
    return read.with_method("close", native([r](std::span<const CallArgument>) {
        std::lock_guard lock(r->file_mutex);
        r->in.close();
        return Value();
    }));
}

Value nullable_parts(Value read) {
    return native([read](std::span<const CallArgument>) {
        Value part = read.call();
        return part.as_string().empty() ? Value::null() : part;
    });
}

const std::vector<BuiltinParam> write_params{
    opt("perms", "int", "420", "Permissions of a new file."), opt("append", "bool", "false", "Write after what is there?"),
    opt("atomic", "bool", "false", "Let readers see the old file or the whole new one, nothing between?"), opt("temp_dir", "string?", "null", "Kept for compatibility: a file is staged beside its target."),
};
std::vector<BuiltinParam> with(std::vector<BuiltinParam> before, std::vector<BuiltinParam> after) {
    before.insert(before.end(), after.begin(), after.end());
    return before;
}

const Definitions files("File", {
    {"file.exists", "Is there such a file or folder?", {pos("string")}, "bool", [](const BuiltinArgs& a) {
        std::error_code error;
        return boolean(fs::exists(expanded(a[0].as_string()), error)); }},
    {"file.is_directory", "Is it a folder?", {pos("string")}, "bool", [](const BuiltinArgs& a) {
        std::error_code error;
        return boolean(fs::is_directory(expanded(a[0].as_string()), error)); }},
    {"file.contents", "All of a file.", {pos("string")}, "string", [](const BuiltinArgs& a) { return text(read_all(a[0].as_string())); }},
    {"file.read", "A function that gives a file piece by piece, then empty strings.", {pos("string")}, "() -> string", reader, {{"close", "() -> unit", "Stop reading."}}},
    {"file.iterator", "A function that gives a file piece by piece, then null.", {pos("string")}, "() -> string?", [](const BuiltinArgs& a) { return nullable_parts(reader(a)); }},
    {"file.lines", "The lines of a file.", {pos("string")}, "[string]", [](const BuiltinArgs& a) { return strings(lines_of(a[0].as_string())); }},
    {"file.lines.iterator", "A function that gives the lines of a file, then null.", {pos("string")}, "() -> string?", [](const BuiltinArgs& a) {
        auto lines = std::make_shared<std::vector<std::string>>(lines_of(a[0].as_string()));
        auto next = std::make_shared<std::atomic<std::size_t>>(0);
        return native([lines, next](std::span<const CallArgument>) {
            std::size_t i = (*next)++;
            return i < lines->size() ? text((*lines)[i]) : Value::null();
        }); }},
    {"file.write", "Write a file.", with({arg("data", "{string?}", "What to write; of a function, until it gives nothing.")}, with(write_params, {pos("string", "Path.")})), "unit",
     [](const BuiltinArgs& a) {
        write_file(a[5].as_string(), data_of(a[0]), {static_cast<mode_t>(a[1].as_int()), a[2].as_bool(), a[3].as_bool()});
        return Value(); }},
    {"file.write.stream", "A function that takes a file piece by piece; an empty string or null ends it.", with(write_params, {pos("string", "Path.")}), "(string?) -> unit", write_stream},
    {"file.touch", "Make a file unless it is there.", {opt("perms", "int", "420", "Permissions of a new file."), pos("string")}, "unit", [](const BuiltinArgs& a) {
        write_file(a[1].as_string(), "", {static_cast<mode_t>(a[0].as_int()), true, false});
        return Value(); }},
    {"file.remove", "Remove a file.", {pos("string")}, "unit", remove_file},
    {"file.unlink", "Remove a file.", {pos("string")}, "unit", remove_file, {}, "Use `file.remove` instead."},
    {"file.rmdir", "Remove a folder and all in it.", {pos("string")}, "unit", [](const BuiltinArgs& a) {
        std::error_code error;
        fs::remove_all(expanded(a[0].as_string()), error);
        return Value(); }},
    {"file.mkdir", "Make a folder.", {opt("parents", "bool", "false", "And those above it?"), opt("perms", "int", "493", "Permissions."), pos("string")}, "unit", [](const BuiltinArgs& a) {
        make_folder(expanded(a[2].as_string()), a[0].as_bool(), static_cast<mode_t>(a[1].as_int()));
        return Value(); }},
    {"file.copy", "Copy a file.",
     {opt("recursive", "bool", "false", "Copy folders too?"), opt("force", "bool", "true", "Replace what is there? Else it is left as it is."), opt("preserve", "bool", "false", "Keep times and owner?"),
      pos("string", "From."), pos("string", "To.")}, "unit", [](const BuiltinArgs& a) { return copy_or_move(a, false); }},
    {"file.move", "Move a file.", {opt("force", "bool", "false", "Replace what is there? Else it is left as it is."), opt("atomic", "bool", "false", "Replace it in one step, and refuse a move between file systems?"), pos("string", "From."), pos("string", "To.")},
     "unit", [](const BuiltinArgs& a) { return copy_or_move(a, true); }},
    {"file.size", "Size in bytes, 0 when there is no such file.", {pos("string")}, "int", [](const BuiltinArgs& a) { return integer(status(a[0].as_string()).st_size); }},
    {"file.mtime", "When it was last changed, in seconds since 1970; 0 when there is no such file.", {pos("string")}, "float", [](const BuiltinArgs& a) {
        auto s = status(a[0].as_string());
        return number(static_cast<double>(s.st_mtim.tv_sec) + static_cast<double>(s.st_mtim.tv_nsec) / 1e9); }},
    {"file.digest", "MD5 digest of a file, in hexadecimal.", {pos("string")}, "string", [](const BuiltinArgs& a) { return text(md5(read_all(a[0].as_string()))); }},
    {"file.ls", "The files of a folder.",
     {opt("absolute", "bool", "false", "Give whole paths?"), opt("recursive", "bool", "false", "Look in its folders too?"), opt("pattern", "string?", "null", "What names should be like: \"*.mp3\"."),
      opt("sorted", "bool", "false", "In alphabetical order?"), pos("string", "Folder.")}, "[string]", list_files},
    {"file.temp", "A new, empty file.",
     {opt("cleanup", "bool", "false", "Remove it at the end?"), opt("directory", "string?", "null", "Where; null: the usual place."), pos("string", "Start of its name."), pos("string", "End of its name.")},
     "string", [](const BuiltinArgs& a) {
        std::string path = temporary(optional_text(a[1]).value_or(""), a[2].as_string(), a[3].as_string(), false);
        if (a[0].as_bool()) clean_up(path);
        return text(path); }},
    {"file.temp_dir", "A new, empty folder.", {opt("cleanup", "bool", "false", "Remove it at the end?"), pos("string", "Start of its name."), opt_pos("string", "\"\"", "End of its name.")}, "string",
     [](const BuiltinArgs& a) {
        std::string path = temporary("", a[1].as_string(), a[2].as_string(), true);
        if (a[0].as_bool()) clean_up(path);
        return text(path); }},
    {"file.extension", "Extension of a name.", {opt("dir_sep", "string", "\"/\"", "What separates folders."), opt("leading_dot", "bool", "true", "With the dot?"), pos("string")}, "string",
     [](const BuiltinArgs& a) { return text(extension(a[2].as_string(), a[1].as_bool(), a[0].as_string())); }},
    {"file.mime", "MIME type, by the contents or the name; null when unknown.", {pos("string")}, "string?", mime},
    {"get_mime", "MIME type; empty when unknown.", {pos("string")}, "string", [](const BuiltinArgs& a) {
        Value type = mime(a);
        return type.is_null() ? text("") : type; }, {}, "Use `file.mime` instead."},
    {"file.mime.magic", "MIME type by the name; application/octet-stream when unknown.", {pos("string")}, "string",
     [](const BuiltinArgs& a) { return text(mime_by_extension(a[0].as_string()).value_or("application/octet-stream")); }},
    {"file.which", "Where a program is, or null.", {pos("string")}, "string?", which},
    {"which", "Where a program is.", {pos("string")}, "string", [](const BuiltinArgs& a) {
        Value path = which(a);
        if (path.is_null()) raise("not_found", "There is no program " + a[0].as_string() + ".");
        return path; }, {}, "Use `file.which` instead."},
    {"file.umask", "Permissions that new files do not get.", {}, "int", [](const BuiltinArgs&) {
        mode_t mask = umask(0);
        umask(mask);
        return integer(mask); }},
    {"file.umask.set", "Set the permissions that new files do not get.", {pos("int")}, "unit", [](const BuiltinArgs& a) {
        umask(static_cast<mode_t>(a[0].as_int()));
        return Value(); }},
});

const Definitions paths("File", {
    {"path.basename", "Last part of a path.", {pos("string")}, "string", [](const BuiltinArgs& a) {
        std::string s = a[0].as_string();
        while (s.size() > 1 && s.back() == '/') s.pop_back();
        std::size_t i = s.rfind('/');
        return text(s.empty() ? "." : i == s.npos || s == "/" ? s : s.substr(i + 1)); }},
    {"path.dirname", "A path without its last part.", {pos("string")}, "string", [](const BuiltinArgs& a) {
        std::string s = a[0].as_string();
        while (s.size() > 1 && s.back() == '/') s.pop_back();
        std::size_t i = s.rfind('/');
        return text(i == s.npos ? "." : i == 0 ? "/" : s.substr(0, i)); }},
    {"path.concat", "A path in a folder.", {pos("string"), pos("string")}, "string", [](const BuiltinArgs& a) {
        const std::string& folder = a[0].as_string();
        return text(folder.empty() || folder.ends_with('/') ? folder + a[1].as_string() : folder + "/" + a[1].as_string()); }},
    {"path.home.unrelate", "A path that starts with ~ as a whole one.", {pos("string")}, "string", [](const BuiltinArgs& a) { return text(expanded(a[0].as_string())); }},
    {"path.remove_extension", "A path without its extension.", {pos("string")}, "string", [](const BuiltinArgs& a) {
        const std::string& s = a[0].as_string();
        return text(s.substr(0, s.size() - extension(s, true, "/").size())); }},
});

}  // namespace

}  // namespace castile::builtins
