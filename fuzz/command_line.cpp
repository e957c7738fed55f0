// layers: net sched base
// Lines of the command server: any bytes in any pieces give lines of bounded length, and the same ones however they are cut.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "net/line_reader.h"

using namespace castile;

namespace {

constexpr std::size_t longest = 64;

// Whole lines until the first that is too long.
std::vector<std::string> lines(ByteSpan data, std::size_t step) {
    LineReader reader(longest);
    std::vector<std::string> all;
    for (ByteSpan left = data; !left.empty();) {
        ByteSpan piece = left.first(std::min(step, left.size()));
        left = left.subspan(piece.size());
        for (;;) {
            std::size_t used = 0;
            const auto status = reader.feed(piece, used);
            if (used > piece.size()) std::abort();
            piece = piece.subspan(used);
            if (status == LineReader::Status::too_long) return all;
            if (status == LineReader::Status::more) break;
            std::string line = reader.take();
            if (line.empty() || line.size() > longest || line.find_first_of(std::string("\r\n\0", 3)) != line.npos) std::abort();
            all.push_back(std::move(line));
        }
    }
    return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 1) return 0;
    const ByteSpan rest{data + 1, size - 1};
    if (lines(rest, data[0] + std::size_t{1}) != lines(rest, rest.size() + 1)) std::abort();
    return 0;
}
