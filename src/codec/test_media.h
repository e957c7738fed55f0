#pragma once
// For tests: a folder that goes away, WAV files, signals.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "frame/frame.h"

namespace castile {

class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "castile-XXXXXX").string();
        path_ = ::mkdtemp(name.data());
    }
    ~TemporaryFolder() { std::filesystem::remove_all(path_); }
    std::string path(const std::string& name) const { return path_ + "/" + name; }

private:
    std::string path_;
};

inline void write_wav(const std::string& path, int rate, int channels, int samples, const std::function<std::int16_t(int, int)>& signal) {
    std::ofstream out(path, std::ios::binary);
    const auto put = [&](std::uint32_t value, int bytes) {
        for (int i = 0; i < bytes; ++i) out.put(static_cast<char>(value >> (8 * i)));
    };
    const auto bytes = static_cast<std::uint32_t>(samples * channels * 2);
    out << "RIFF";
    put(36 + bytes, 4);
    out << "WAVEfmt ";
    put(16, 4), put(1, 2), put(static_cast<std::uint32_t>(channels), 2), put(static_cast<std::uint32_t>(rate), 4);
    put(static_cast<std::uint32_t>(rate) * static_cast<std::uint32_t>(channels * 2), 4), put(static_cast<std::uint32_t>(channels * 2), 2), put(16, 2);
    out << "data";
    put(bytes, 4);
    for (int i = 0; i < samples; ++i)
        for (int c = 0; c < channels; ++c) put(static_cast<std::uint16_t>(signal(i, c)), 2);
}

/// A block of a tone that continues from block to block: sample n is sin(2 pi f n / 44100) / 2, the same in all channels.
inline PcmBlock tone(std::int64_t from, std::size_t samples, double frequency = 1000, int channels = 2) {
    PcmBlock block(channels, samples);
    for (int c = 0; c < channels; ++c) {
        auto out = block.write(c);
        for (std::size_t i = 0; i < samples; ++i)
            out[i] = static_cast<float>(0.5 * std::sin(2 * M_PI * frequency * static_cast<double>(from + static_cast<std::int64_t>(i)) / 44100));
    }
    return block;
}

}  // namespace castile
