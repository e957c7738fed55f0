// --build-config: how this program was built, and what it runs with.

#include <curl/curl.h>
#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <openssl/crypto.h>
#include <sys/utsname.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <CLI/Version.hpp>
#include <boost/version.hpp>
#include <climits>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "app/describe.h"
#include "app/run.h"
#include "base/memory.h"
#include "ffmpeg/versions.h"

namespace castile::app {

namespace {

/// The version in the file name of a loaded library that has no function to ask: "libfmt.so.9.1.0" gives "9.1.0".
std::string loaded_version(const char* library) {
    struct Search {
        std::string name, found;
    } search{std::string(library) + ".so", ""};
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) {
            auto& s = *static_cast<Search*>(data);
            const std::string path = info->dlpi_name ? info->dlpi_name : "";
            if (path.find("/" + s.name) == path.npos) return 0;
            char real[PATH_MAX];
            s.found = realpath(path.c_str(), real) ? real : path;
            return 1;
        },
        &search);
    const auto at = search.found.find(".so.");
    return at == search.found.npos ? "?" : search.found.substr(at + 4);
}

/// "9.1.0" of 90100: two digits a part.
std::string by_hundreds(int version) { return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100); }

// 1130 is 1.13, older ones wrote 190 for 1.9.
std::string pugixml_built() {
    constexpr int version = PUGIXML_VERSION;
    return version >= 1000 ? fmt::format("{}.{}", version / 1000, version / 10 % 100) : fmt::format("{}.{}", version / 100, version / 10 % 10);
}

std::string pcre_running() {
    char text[64] = "?";
    pcre2_config(PCRE2_CONFIG_VERSION, text);
    return text;
}

std::vector<ffmpeg::LibraryVersion> libraries() {
    std::vector<ffmpeg::LibraryVersion> all = ffmpeg::libav_versions();
    const std::string boost = fmt::format("{}.{}.{}", BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100);
    const std::string json = fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH);
    all.push_back({"Boost", boost, boost});   // headers only
    all.push_back({"OpenSSL", OPENSSL_VERSION_TEXT, OpenSSL_version(OPENSSL_VERSION)});
    all.push_back({"libcurl", LIBCURL_VERSION, curl_version_info(CURLVERSION_NOW)->version});
    all.push_back({"PCRE2", fmt::format("{}.{}", PCRE2_MAJOR, PCRE2_MINOR), pcre_running()});
    all.push_back({"pugixml", pugixml_built(),
                   loaded_version("libpugixml")});
    all.push_back({"fmt", by_hundreds(FMT_VERSION), loaded_version("libfmt")});
    all.push_back({"libedit", "", loaded_version("libedit")});
    all.push_back({"prometheus-cpp", "", loaded_version("libprometheus-cpp-core")});
    all.push_back({"nlohmann-json", json, json});
    all.push_back({"CLI11", CLI11_VERSION, CLI11_VERSION});
    all.push_back({"glibc", fmt::format("{}.{}", __GLIBC__, __GLIBC_MINOR__), gnu_get_libc_version()});
    return all;
}

}  // namespace

std::string build_text() {
    std::string out = "Castile " CASTILE_VERSION "\n\n";
    auto line = [&](const char* what, const std::string& value) { out += fmt::format(" * {:<22}: {}\n", what, value); };
    utsname system{};
    uname(&system);
    line("Language", "Liquidsoap 2.5.0");
    line("Compiler", fmt::format("{} {}",
#ifdef __clang__
                                 "clang++",
#else
                                 "g++",
#endif
                                 __VERSION__));
#ifdef NDEBUG
    line("Assertions", "off");
#else
    line("Assertions", "on");
#endif
#if defined(__SANITIZE_ADDRESS__)
    line("Sanitizers", "address, undefined behaviour");
#elif defined(__SANITIZE_THREAD__)
    line("Sanitizers", "thread");
#endif
    line("System", fmt::format("{} {}", system.sysname, system.machine));
    line("Allocator", allocator_name());
    line("Standard library", engine_options({}).library_directory.empty() ? "found beside the program" : engine_options({}).library_directory);
    out += fmt::format("\n   {:<22}  {:<24} {}\n", "Libraries", "as built", "as running");
    for (const ffmpeg::LibraryVersion& library : libraries())
        out += fmt::format(" * {:<22}: {:<24} {}\n", library.name, library.built.empty() ? "-" : library.built, library.running);
    return out;
}

}  // namespace castile::app
