// Loads libav and fills the slots of lazy_libav.S. Any thread; the first call waits for the loading, about 30 ms.
extern "C" {
#include <libavcodec/version.h>
#include <libavformat/version.h>
#include <libavutil/macros.h>
#include <libavutil/version.h>
#include <libswresample/version.h>
}

#if defined(__x86_64__) || defined(__aarch64__)

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "base/memory.h"

namespace {

struct Entry {
    const char* name;
    void** slot;
};

// The major versions that this was compiled against: a library of another one is another interface.
constexpr const char* libraries[] = {
    "libavutil.so." AV_STRINGIFY(LIBAVUTIL_VERSION_MAJOR),
    "libswresample.so." AV_STRINGIFY(LIBSWRESAMPLE_VERSION_MAJOR),
    "libavcodec.so." AV_STRINGIFY(LIBAVCODEC_VERSION_MAJOR),
    "libavformat.so." AV_STRINGIFY(LIBAVFORMAT_VERSION_MAJOR),
};

[[noreturn]] void give_up(const char* why) {
    std::fprintf(stderr, "castile: FFmpeg's libraries cannot be used: %s. Install them (./run does) or build again.\n", why);
    std::_Exit(1);
}

}  // namespace

extern "C" const Entry castile_libav_table[];

extern "C" void castile_libav_load() {
    static std::once_flag once;
    std::call_once(once, [] {
        void* handles[std::size(libraries)];
        for (std::size_t i = 0; i < std::size(libraries); ++i)
            if (handles[i] = ::dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL); !handles[i]) give_up(::dlerror());
        for (const Entry* entry = castile_libav_table; entry->name; ++entry) {
            void* address = nullptr;
            for (void* handle : handles)
                if ((address = ::dlsym(handle, entry->name))) break;
            if (!address) give_up(entry->name);
            std::atomic_ref(*entry->slot).store(address, std::memory_order_release);
        }
        castile::release_library_pages();
    });
}

#endif
