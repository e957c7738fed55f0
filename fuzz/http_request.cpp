// layers: net sched base
// HTTP requests, answers and ICY streams from anywhere: any bytes in any pieces.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "net/http_head.h"
#include "net/http_server.h"
#include "net/icy.h"

using namespace castile;

namespace {

// As a connection does it: what was not used comes again, with more.
void read_request(ByteSpan data, std::size_t step) {
    HttpRequestReader reader;
    HttpServerRequest request;
    std::string pending;
    while (true) {
        std::size_t used = 0;
        const auto status = reader.feed({reinterpret_cast<const std::uint8_t*>(pending.data()), pending.size()}, used);
        if (used > pending.size()) std::abort();
        pending.erase(0, used);
        if (status == HttpRequestReader::Status::head_done) {
            reader.fill(request);
            reader.limit_body(4096);
            continue;
        }
        if (status == HttpRequestReader::Status::done) {
            reader.fill(request);
            if (request.body.size() > 4096) std::abort();
            (void)request.credentials();
            return;
        }
        if (status == HttpRequestReader::Status::failed || data.empty()) return;
        const auto piece = data.first(std::min(step, data.size()));
        pending.append(reinterpret_cast<const char*>(piece.data()), piece.size());
        data = data.subspan(piece.size());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const std::size_t step = data[0] + std::size_t{1}, interval = data[1] + std::size_t{1};
    const ByteSpan rest{data + 2, size - 2};
    const std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size());
    read_request(rest, step);
    if (const auto line = parse_http_answer(text); line && line->length > text.size()) std::abort();

    std::size_t audio = 0;
    IcyReader reader(interval);
    for (ByteSpan left = rest; !left.empty();) {
        const auto piece = left.first(std::min(step, left.size()));
        reader.feed(piece, [&](ByteSpan a) { audio += a.size(); }, [](std::string_view) {});
        left = left.subspan(piece.size());
    }
    if (audio > rest.size()) std::abort();

    const std::string block = icy_block(text, text);
    if (block.size() != static_cast<unsigned char>(block[0]) * std::size_t{16} + 1) std::abort();
    (void)icy_stream_title(std::string_view(block).substr(1));
    if (url_decode(url_encode(text), false) != text) std::abort();
    if (base64_decode(base64_encode(text)) != text) std::abort();
    (void)from_utf8(text, "ISO-8859-1");
    return 0;
}
