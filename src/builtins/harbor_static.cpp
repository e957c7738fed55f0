// harbor.http.static: folders served as they are, in pieces.

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <map>
#include <optional>

#include "builtins/harbor_values.h"
#include "net/http_head.h"
#include "sched/scheduler.h"
#include "script/args.h"

namespace castile::harbor {

using lang::BuiltinArgs;
using lang::Value;

namespace {

constexpr std::size_t piece_size = 128u << 10, max_listed = 10000;

std::string content_type_of(const std::string& path) {
    static const std::map<std::string, std::string> types{
        {"html", "text/html; charset=utf-8"}, {"css", "text/css; charset=utf-8"}, {"js", "text/javascript; charset=utf-8"}, {"json", "application/json"},
        {"txt", "text/plain; charset=utf-8"}, {"svg", "image/svg+xml"}, {"png", "image/png"}, {"jpg", "image/jpeg"}, {"jpeg", "image/jpeg"},
        {"webp", "image/webp"}, {"ico", "image/x-icon"}, {"mp3", "audio/mpeg"}, {"ogg", "audio/ogg"}, {"opus", "audio/ogg"}, {"flac", "audio/flac"},
        {"wav", "audio/wav"}, {"aac", "audio/aac"}, {"m4a", "audio/mp4"}, {"mp4", "video/mp4"}, {"m4s", "video/iso.segment"}, {"ts", "video/mp2t"},
        {"m3u8", "application/vnd.apple.mpegurl"}, {"m3u", "audio/mpegurl"}, {"xml", "application/xml"}, {"pdf", "application/pdf"}};
    const auto dot = path.rfind('.');
    const auto found = dot == path.npos ? types.end() : types.find(path.substr(dot + 1));
    return found == types.end() ? "application/octet-stream" : found->second;
}

class File {
public:
    explicit File(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
    ~File() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    File(const File&) = delete;
    bool ordinary(struct stat& info) const { return descriptor_ >= 0 && ::fstat(descriptor_, &info) == 0 && S_ISREG(info.st_mode); }
    /// Empty: the end, or a file that became shorter.
    std::string read(std::uint64_t at) const {
        std::string piece(piece_size, '\0');
        const ssize_t n = ::pread(descriptor_, piece.data(), piece.size(), static_cast<off_t>(at));
        piece.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
        return piece;
    }

private:
    const int descriptor_;
};

struct Range {
    std::uint64_t from, count;
};

// One range of bytes (RFC 9110, 14.1.2). nullopt: there is none that can be understood, the whole file is sent.
std::optional<Range> range_in(const std::string* header, std::uint64_t size, bool& impossible) {
    impossible = false;
    if (!header || !header->starts_with("bytes=") || header->find(',') != header->npos) return std::nullopt;
    const std::string_view text = std::string_view(*header).substr(6);
    const auto dash = text.find('-');
    if (dash == text.npos) return std::nullopt;
    const auto number = [](std::string_view digits) -> std::optional<std::uint64_t> {
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        return error != std::errc() || end != digits.data() + digits.size() ? std::nullopt : std::optional(value);
    };
    const auto first = number(text.substr(0, dash)), last = number(text.substr(dash + 1));
    if (dash == 0) {   // the last so many
        if (!last) return std::nullopt;
        impossible = *last == 0 || size == 0;
        return Range{size - std::min(*last, size), std::min(*last, size)};
    }
    if (!first || (!last && dash + 1 < text.size()) || (last && *last < *first)) return std::nullopt;
    impossible = *first >= size;
    return Range{*first, std::min(last.value_or(size - 1), size - 1) - *first + 1};
}

std::string http_date(std::time_t seconds) {
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    char text[40];
    std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc);
    return text;
}

std::string html(const std::string& text) {
    std::string out;
    for (const char c : text) out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : c == '>' ? "&gt;" : c == '"' ? "&quot;" : std::string(1, c);
    return out;
}

HttpServerResponse listing(const std::string& folder, std::string shown) {
    std::vector<std::string> names;
    if (DIR* directory = ::opendir(folder.c_str())) {
        while (const dirent* entry = ::readdir(directory)) {
            if (entry->d_name[0] == '.' || names.size() >= max_listed) continue;
            struct stat info {};
            const std::string name = entry->d_name;
            names.push_back(::stat((folder + "/" + name).c_str(), &info) == 0 && S_ISDIR(info.st_mode) ? name + "/" : name);
        }
        ::closedir(directory);
    }
    std::ranges::sort(names);
    if (!shown.ends_with('/')) shown += '/';
    std::string page = "<!DOCTYPE html>\n<html><head><meta charset='utf-8'><title>" + html(shown) + "</title></head><body><ul>\n";
    for (const std::string& name : names) {
        const bool is_folder = name.ends_with('/');
        page += "<li><a href=\"" + url_encode(is_folder ? name.substr(0, name.size() - 1) : name) + (is_folder ? "/" : "") + "\">" + html(name) + "</a></li>\n";
    }
    return {200, "text/html; charset=utf-8", page + "</ul></body></html>\n", {}, ""};
}

struct Folder {
    std::string path, prefix;
    Fields headers;
    Value content_type;
    bool browse = false;

    void serve(const HttpExchangePtr& exchange) const;
};

// The path below the folder; nullopt when a part of it would lead out, by name; links inside are the owner's business.
std::optional<std::string> inside(std::string rest) {
    while (rest.starts_with('/')) rest.erase(0, 1);
    for (std::size_t at = 0; at <= rest.size();) {
        const auto end = std::min(rest.find('/', at), rest.size());
        if (rest.substr(at, end - at) == "..") return std::nullopt;
        at = end + 1;
    }
    return rest.find('\0') == rest.npos ? std::optional(std::move(rest)) : std::nullopt;
}

void Folder::serve(const HttpExchangePtr& exchange) const {
    const auto reply = [&](HttpServerResponse response) {
        response.headers.insert(response.headers.end(), headers.begin(), headers.end());
        exchange->reply(std::move(response));
    };
    const auto refuse = [&](int status) { reply({status, "text/plain; charset=utf-8", http_reason(status) + "\n", {}, ""}); };
    const std::string& asked = exchange->request().path;
    const auto rest = inside(asked.substr(std::min(prefix.size(), asked.size())));
    if (!rest) return refuse(404);
    std::string file_path = path + "/" + *rest;
    struct stat info {};
    if (::stat(file_path.c_str(), &info) != 0) return refuse(404);
    if (S_ISDIR(info.st_mode)) {
        // Links of the page are relative: they need the slash.
        if (!asked.ends_with('/')) return reply({301, "", "", {{"Location", exchange->request().path + "/"}}, ""});
        const std::string index = file_path + (file_path.ends_with('/') ? "index.html" : "/index.html");
        if (::stat(index.c_str(), &info) != 0) return browse ? reply(listing(file_path, asked)) : refuse(403);
        file_path = index;
    }
    auto file = std::make_shared<File>(file_path);
    if (!file->ordinary(info)) return refuse(404);
    const auto size = static_cast<std::uint64_t>(info.st_size);
    HttpServerResponse response;
    response.content_type = content_type_of(file_path);
    if (!content_type.is_null()) {
        const Value chosen = content_type.call({Value::string(file_path)});
        if (!chosen.is_null()) response.content_type = chosen.as_string();
    }
    response.headers = {{"Last-Modified", http_date(info.st_mtime)}, {"Accept-Ranges", "bytes"}};
    response.headers.insert(response.headers.end(), headers.begin(), headers.end());
    bool impossible = false;
    const auto range = range_in(exchange->request().header("range"), size, impossible);
    if (impossible) return reply({416, "text/plain; charset=utf-8", "Range Not Satisfiable\n", {{"Content-Range", fmt::format("bytes */{}", size)}}, "Range Not Satisfiable"});
    std::uint64_t at = range ? range->from : 0;
    const std::uint64_t count = range ? range->count : size;
    if (range) {
        response.status = 206;
        response.reason = "Partial Content";
        response.headers.emplace_back("Content-Range", fmt::format("bytes {}-{}/{}", at, at + count - 1, size));
    }
    exchange->reply_pieces(std::move(response), [file, at]() mutable {
        std::string piece = file->read(at);
        at += piece.size();
        return piece;
    }, count);
}

std::string with_slashes(std::string path) {
    if (!path.starts_with('/')) path.insert(0, "/");
    if (!path.ends_with('/')) path += '/';
    return path;
}

enum : unsigned { transport, port, path, browse, content_type, headers, folder };

const lang::RegisterBuiltin static_builtin{lang::Builtin{
    .name = "harbor.http.static",
    .category = "Internet",
    .doc = "Serve the files of a folder; `index.html` stands for a folder that has one.",
    .params = {
        {"transport", "http_transport?", "null", "`http.transport.ssl(...)` for HTTPS."},
        {"port", "int", "8000", "Port to serve on."},
        {"path", "string", "\"/\"", "Path that the folder stands for."},
        {"browse", "bool", "false", "List the files of folders that have no `index.html`."},
        {"content_type", "((string) -> string?)?", "null", "Content type of a file; guessed from its name when null."},
        {"headers", "[string * string]", "[(\"Access-Control-Allow-Origin\", \"*\")]", "More headers of the answers."},
        {"", "string", nullptr, "The folder."},
    },
    .result = "unit",
    .call = [](const BuiltinArgs& args) {
        auto served = std::make_shared<Folder>();
        served->prefix = with_slashes(args[path].as_string());
        served->path = args[folder].as_string();
        served->headers = fields_of(args[headers]);
        served->content_type = args[content_type];
        served->browse = args[browse].as_bool();
        HttpRoute route;
        route.path = served->prefix + "*";
        const std::string key = route.path;
        keep_route(args, port, transport, std::move(route), key, [served](const HttpExchangePtr& exchange) {
            scheduler().blocking([served, exchange] {
                try {
                    served->serve(exchange);
                } catch (...) {
                    script::log_script_error("harbor.http.static");
                    exchange->reply({500, "text/plain; charset=utf-8", "Internal Server Error\n", {}, ""});
                }
            });
        });
        return Value::unit();
    },
}};

}  // namespace

}  // namespace castile::harbor
