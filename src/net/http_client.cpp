// HTTP client over libcurl's easy interface: one handle a call, everything bounded (time, redirects, bytes, header bytes).

#include "net/http_client.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>

namespace castile {

namespace {

constexpr long max_redirects = 10;
constexpr std::size_t max_header_bytes = 256u << 10;  // of all responses of a chain of redirects

struct CurlCloser {
    void operator()(CURL* handle) const noexcept { curl_easy_cleanup(handle); }
    void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

struct Transfer {
    HttpResponse response;
    std::FILE* file = nullptr;  // nullptr: into response.body
    std::size_t received = 0, limit = 0, header_bytes = 0;
    bool too_large = false, disk_failed = false;
    const HttpRequest* request = nullptr;
    std::string pending;             // data that libcurl had no room for
    std::exception_ptr thrown;       // by the caller's functions
};

std::size_t on_body(char* data, std::size_t, std::size_t size, void* user) {
    auto& transfer = *static_cast<Transfer*>(user);
    if (size > transfer.limit - transfer.received) {
        transfer.too_large = true;
        return 0;
    }
    transfer.received += size;
    if (transfer.request->on_data) {
        try {
            transfer.request->on_data({data, size});
        } catch (...) {
            transfer.thrown = std::current_exception();
            return 0;
        }
    } else if (!transfer.file) {
        transfer.response.body.append(data, size);
    } else if (std::fwrite(data, 1, size, transfer.file) != size) {
        transfer.disk_failed = true;
        return 0;
    }
    return size;
}

std::size_t on_more_data(char* room, std::size_t, std::size_t size, void* user) {
    auto& transfer = *static_cast<Transfer*>(user);
    try {
        if (transfer.pending.empty()) transfer.pending = transfer.request->next_data();
    } catch (...) {
        transfer.thrown = std::current_exception();
        return CURL_READFUNC_ABORT;
    }
    const std::size_t n = std::min(size, transfer.pending.size());
    std::copy_n(transfer.pending.begin(), n, room);
    transfer.pending.erase(0, n);
    return n;
}

std::string_view trim(std::string_view text) {
    const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    return text;
}

// Called once per header line, of every response of a chain: a status line begins a new set.
std::size_t on_header(char* data, std::size_t, std::size_t size, void* user) {
    auto& transfer = *static_cast<Transfer*>(user);
    transfer.header_bytes += size;
    if (transfer.header_bytes > max_header_bytes) return 0;
    const std::string_view line = trim({data, size});
    if (line.starts_with("HTTP/") || line.starts_with("ICY ")) {
        transfer.response.headers.clear();
        transfer.response.version = line.starts_with("HTTP/") ? line.substr(5, line.find(' ') - 5) : "1.0";
        const auto after_version = line.find(' ');
        const auto code = after_version == line.npos ? std::string_view{} : trim(line.substr(after_version));
        const auto space = code.find(' ');
        transfer.response.reason = space == code.npos ? "" : std::string(trim(code.substr(space)));
        return size;
    }
    const auto colon = line.find(':');
    if (colon == line.npos) return size;
    std::string name(line.substr(0, colon));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
    transfer.response.headers.emplace_back(std::move(name), trim(line.substr(colon + 1)));
    return size;
}

Failure::Kind kind_of(CURLcode code) {
    switch (code) {
        case CURLE_COULDNT_RESOLVE_HOST:
        case CURLE_COULDNT_RESOLVE_PROXY: return Failure::Kind::not_found;
        case CURLE_COULDNT_CONNECT: return Failure::Kind::refused;
        case CURLE_OPERATION_TIMEDOUT: return Failure::Kind::timeout;
        case CURLE_URL_MALFORMAT:
        case CURLE_TOO_MANY_REDIRECTS: return Failure::Kind::invalid;
        case CURLE_UNSUPPORTED_PROTOCOL: return Failure::Kind::unsupported;
        case CURLE_PEER_FAILED_VERIFICATION:
        case CURLE_LOGIN_DENIED: return Failure::Kind::denied;
        default: return Failure::Kind::other;
    }
}

/// As proxies in front of a server answer for it.
std::optional<HttpResponse> failure_status(CURLcode code) {
    auto answer = [](int status, const char* reason) { return HttpResponse{.status = status, .version = "1.0", .reason = reason, .body = "", .final_url = "", .headers = {}}; };
    switch (code) {
        case CURLE_OPERATION_TIMEDOUT: return answer(522, "Connection timed out");
        case CURLE_COULDNT_CONNECT:
        case CURLE_COULDNT_RESOLVE_HOST: return answer(523, "Origin is unreachable");
        case CURLE_GOT_NOTHING: return answer(523, "Remote server did not return any data");
        case CURLE_SSL_CONNECT_ERROR: return answer(525, "SSL handshake failed");
        case CURLE_PEER_FAILED_VERIFICATION: return answer(526, "Invalid SSL certificate");
        default: return std::nullopt;
    }
}

long curl_version_of(const std::string& version) {
    if (version == "1.0") return CURL_HTTP_VERSION_1_0;
    if (version == "1.1") return CURL_HTTP_VERSION_1_1;
    if (version == "2" || version == "2.0") return CURL_HTTP_VERSION_2_0;
    return CURL_HTTP_VERSION_NONE;
}

std::expected<HttpResponse, Failure> perform(const HttpRequest& request, std::FILE* file) {
    static std::once_flag initialised;
    std::call_once(initialised, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
    const std::unique_ptr<CURL, CurlCloser> owner(curl_easy_init());
    CURL* curl = owner.get();
    if (!curl) return std::unexpected(Failure{Failure::Kind::other, "libcurl cannot be initialised."});

    Transfer transfer;
    transfer.file = file;
    transfer.request = &request;
    transfer.limit = request.max_bytes;
    char reason[CURL_ERROR_SIZE] = "";
    std::unique_ptr<curl_slist, CurlCloser> headers;
    const auto add_header = [&](const std::string& line) {
        if (curl_slist* longer = curl_slist_append(headers.get(), line.c_str())) {
            headers.release();
            headers.reset(longer);
        }
    };
    bool has_user_agent = false;
    for (const auto& [name, value] : request.headers) {
        if (name.find_first_of("\r\n") != name.npos || value.find_first_of("\r\n") != value.npos) continue;
        has_user_agent |= curl_strequal(name.c_str(), "user-agent") != 0;
        add_header(value.empty() ? name + ";" : fmt::format("{}: {}", name, value));
    }
    add_header("Expect:");  // no round trip for a small body

    curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
    if (!request.ca_file.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, request.ca_file.c_str());
    if (!has_user_agent) curl_easy_setopt(curl, CURLOPT_USERAGENT, http_user_agent().c_str());
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, request.follow_redirects ? 1L : 0L);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, max_redirects);
    curl_easy_setopt(curl, CURLOPT_ACCEPT_ENCODING, "");
    const long milliseconds = request.timeout_seconds > 0 ? std::max(1L, static_cast<long>(request.timeout_seconds * 1000)) : 0L;
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, milliseconds);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, milliseconds);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &transfer);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, curl_version_of(request.http_version));
    if (request.next_data) {
        add_header("Transfer-Encoding: chunked");
        curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
        curl_easy_setopt(curl, CURLOPT_POST, 1L);
        curl_easy_setopt(curl, CURLOPT_READFUNCTION, on_more_data);
        curl_easy_setopt(curl, CURLOPT_READDATA, &transfer);
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
    } else if (request.method == "HEAD") {
        curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    } else if (request.method != "GET" || !request.body.empty()) {
        if (!request.body.empty() || request.method == "POST" || request.method == "PUT") {
            curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
            curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
        }
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
    }

    const CURLcode code = curl_easy_perform(curl);
    if (transfer.thrown) std::rethrow_exception(transfer.thrown);
    if (transfer.too_large) {
        return std::unexpected(Failure{Failure::Kind::invalid, fmt::format("The answer of {} is larger than {} bytes.", request.url, request.max_bytes)});
    }
    if (transfer.disk_failed) return std::unexpected(Failure{Failure::Kind::other, fmt::format("Cannot store what {} sends: the disk refuses it.", request.url)});
    if (code != CURLE_OK) {
        if (auto status = request.failures_as_status ? failure_status(code) : std::nullopt) return std::move(*status);
        return std::unexpected(Failure{kind_of(code), fmt::format("{}: {}.", request.url, *reason ? reason : curl_easy_strerror(code))});
    }
    long status = 0;
    const char* final_url = nullptr;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(curl, CURLINFO_EFFECTIVE_URL, &final_url);
    transfer.response.status = static_cast<int>(status);
    transfer.response.final_url = final_url ? final_url : request.url;
    return std::move(transfer.response);
}

}  // namespace

const std::string& http_user_agent() {
    static const std::string agent = "Castile/" CASTILE_VERSION;
    return agent;
}

std::string normalized_url(const std::string& url) {
    std::string out;
    for (const unsigned char c : url) {
        const bool kept = c > ' ' && c < 0x7f && !std::string_view("\"<>\\^`{|}").contains(static_cast<char>(c));
        out += kept ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
    }
    return out;
}

std::expected<HttpResponse, Failure> http_request(const HttpRequest& request) { return perform(request, nullptr); }

std::expected<HttpResponse, Failure> http_download(const HttpRequest& request, const std::string& path) {
    std::unique_ptr<std::FILE, CurlCloser> file(std::fopen(path.c_str(), "wbe"));
    if (!file) return std::unexpected(Failure{Failure::Kind::denied, fmt::format("Cannot write {}.", path)});
    auto answer = perform(request, file.get());
    const bool flushed = std::fclose(file.release()) == 0;
    if (answer && !flushed) return std::unexpected(Failure{Failure::Kind::other, fmt::format("Cannot write {}: the disk refuses it.", path)});
    if (!answer) std::remove(path.c_str());
    return answer;
}

}  // namespace castile
