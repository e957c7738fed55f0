// Loads the media libraries at the first call of one of their functions: see tools/lazy_library.py, which writes the stubs.

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

extern "C" {
extern void* castile_lazy_pointers[];
extern const char castile_lazy_names[], castile_lazy_libraries[];
extern const unsigned char castile_lazy_library_of[];
void* castile_lazy_resolve(unsigned index);
}

namespace {

constexpr unsigned most_libraries = 16;

const char* nth(const char* list, unsigned n) {
    while (n-- > 0) list += std::strlen(list) + 1;
    return list;
}

[[noreturn]] void fail() {
    std::fprintf(stderr, "castile: %s\n", dlerror());
    std::_Exit(1);
}

void* library(unsigned number) {
    static std::mutex libraries_mutex;
    static void* loaded[most_libraries];
    std::lock_guard lock(libraries_mutex);
    if (!loaded[number]) loaded[number] = dlopen(nth(castile_lazy_libraries, number), RTLD_NOW | RTLD_GLOBAL);
    if (!loaded[number]) fail();
    return loaded[number];
}

}  // namespace

/// Called by a stub, any thread: two threads may both find the same function, and write the same pointer.
void* castile_lazy_resolve(unsigned index) {
    void* function = dlsym(library(castile_lazy_library_of[index]), nth(castile_lazy_names, index));
    if (!function) fail();
    __atomic_store_n(&castile_lazy_pointers[index], function, __ATOMIC_RELEASE);
    return function;
}
