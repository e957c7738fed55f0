// layers: codec ffmpeg frame sched base
// Any bytes as a media file: opened, its tags read, a second of it decoded, sought, decoded again.

#include <cstddef>
#include <cstdint>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "codec/decoder.h"
#include "codec/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace castile;
    const int fd = ::memfd_create("media", MFD_CLOEXEC);
    if (fd < 0) return 0;
    if (::write(fd, data, size) == static_cast<ssize_t>(size)) {
        const std::string path = "/proc/self/fd/" + std::to_string(fd);
        const Metadata metadata = read_file_metadata(path);
        for (const auto& [label, value] : metadata.entries())
            if (!valid_utf8(label) || !valid_utf8(value)) __builtin_trap();
        if (auto decoder = open_decoder(path, {.cue_in = size % 3 ? std::optional<double>() : 0.1})) {
            for (int i = 0; i < 50; ++i)
                if ((*decoder)->read(Ticks{882}, 1 + i % 2).samples() < 882) break;
            (*decoder)->seek(Ticks{-20000});
            (*decoder)->read(Ticks{882}, 2);
            (*decoder)->remaining();
        }
    }
    ::close(fd);
    return 0;
}
