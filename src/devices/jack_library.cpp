#include "devices/jack_library.h"

#include <dlfcn.h>

#include <expected>
#include <string>

#include "base/error.h"
#include "base/log.h"

namespace castile::devices {

namespace {

// What libjack says while a server is looked for is said again, better, by whoever looks for it.
void note(const char* message) { log_line(LogLevel::debug, "jack", message ? message : ""); }

std::expected<JackLibrary, std::string> load() {
    void* handle = ::dlopen("libjack.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char* why = ::dlerror();
        return std::unexpected(fmt::format("JACK cannot be used: {}. Install libjack (Debian: libjack-jackd2-0).", why ? why : "no libjack"));
    }
    JackLibrary library;
    const char* missing = nullptr;
#define CASTILE_JACK_FIND(name)                                                              \
    library.name = reinterpret_cast<decltype(library.name)>(::dlsym(handle, "jack_" #name)); \
    if (!library.name) missing = "jack_" #name;
    CASTILE_JACK_FUNCTIONS(CASTILE_JACK_FIND)
#undef CASTILE_JACK_FIND
    if (missing) return std::unexpected(fmt::format("JACK cannot be used: this libjack has no {}.", missing));
    library.set_error_function(note);
    library.set_info_function(note);
    return library;
}

}  // namespace

const JackLibrary& jack_library() {
    static const auto library = load();
    if (!library) throw Error(library.error());
    return *library;
}

}  // namespace castile::devices
