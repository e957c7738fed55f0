// synth:shape=sine,frequency=440.,duration=10. makes a file of a plain sound.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include "frame/ticks.h"
#include "protocols/command.h"
#include "request/temporary_file.h"

namespace castile::protocols {

namespace {

constexpr double longest = 3600;   // seconds

struct Sound {
    std::string shape = "sine";
    double duration = 10, frequency = 440;
};

std::expected<Sound, Failure> read(std::string_view text) {
    Sound sound;
    const auto invalid = [](const std::string& what) { return std::unexpected(Failure{Failure::Kind::invalid, "synth: " + what}); };
    while (!text.empty()) {
        const std::string_view part = text.substr(0, text.find(','));
        text.remove_prefix(std::min(part.size() + 1, text.size()));
        const std::size_t equals = part.find('=');
        if (equals == part.npos) return invalid("is followed by name=value, separated by commas.");
        const std::string_view name = part.substr(0, equals);
        const std::string value(part.substr(equals + 1));
        if (name == "s" || name == "shape") {
            sound.shape = value;
            continue;
        }
        char* end = nullptr;
        const double number = std::strtod(value.c_str(), &end);
        if (end == value.c_str() || *end != '\0' || !std::isfinite(number)) return invalid("\"" + value + "\" is no number.");
        if (name == "d" || name == "duration") sound.duration = number;
        else if (name == "f" || name == "freq" || name == "frequency") sound.frequency = number;
        else return invalid("there is no parameter \"" + std::string(name) + "\".");
    }
    if (sound.shape != "sine" && sound.shape != "saw" && sound.shape != "square" && sound.shape != "blank")
        return invalid("the shape is sine, saw, square or blank.");
    if (!(sound.duration > 0 && sound.duration <= longest)) return invalid("the duration is more than 0 and at most 3600 seconds.");
    return sound;
}

double amplitude(const Sound& sound, double time) {
    if (sound.shape == "blank") return 0;
    const double phase = sound.frequency * time - std::floor(sound.frequency * time);
    if (sound.shape == "sine") return std::sin(2 * std::numbers::pi * phase);
    if (sound.shape == "square") return phase < 0.5 ? 1 : -1;
    return 2 * phase - 1;
}

void append(std::string& bytes, std::uint64_t number, int size) {
    for (int i = 0; i < size; ++i) bytes += static_cast<char>(number >> (8 * i));
}

std::expected<ProtocolResult, Failure> make(const std::string& rest, double) {
    const auto sound = read(rest);
    if (!sound) return std::unexpected(sound.error());
    auto file = make_temporary_file(".wav");
    if (!file) return std::unexpected(std::move(file.error()));
    constexpr unsigned channels = 2, sample_bytes = 2;
    const auto rate = static_cast<unsigned>(stream_parameters().samplerate);
    const auto samples = static_cast<std::uint64_t>(sound->duration * rate);
    const std::uint64_t size = samples * channels * sample_bytes;
    std::string bytes = "RIFF";
    append(bytes, 36 + size, 4);
    bytes += "WAVEfmt ";
    append(bytes, 16, 4);
    append(bytes, 1, 2);   // PCM
    append(bytes, channels, 2);
    append(bytes, rate, 4);
    append(bytes, rate * channels * sample_bytes, 4);
    append(bytes, channels * sample_bytes, 2);
    append(bytes, 8 * sample_bytes, 2);
    bytes += "data";
    append(bytes, size, 4);
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(std::fopen(file->c_str(), "wb"), std::fclose);
    bool good = out != nullptr;
    for (std::uint64_t i = 0; good && i <= samples; ++i) {
        if (bytes.size() > 65536 || i == samples) {
            good = std::fwrite(bytes.data(), 1, bytes.size(), out.get()) == bytes.size();
            bytes.clear();
        }
        const auto sample = static_cast<std::uint16_t>(static_cast<std::int16_t>(std::lround(32767 * amplitude(*sound, static_cast<double>(i) / rate))));
        for (unsigned c = 0; c < channels; ++c) append(bytes, sample, sample_bytes);
    }
    good = good && std::fflush(out.get()) == 0;
    ProtocolResult result;
    result.uris = {*file};
    result.temporary = true;
    if (good) return result;
    std::remove(file->c_str());
    return std::unexpected(Failure{Failure::Kind::other, "synth: cannot write " + *file + "."});
}

const RegisterProtocol synth{"synth", "A plain sound: sine, saw, square or blank.", "synth:shape=sine,frequency=440.,duration=10.", make,
                             [](const std::string& rest) { return read(rest).has_value(); }};

}  // namespace

}  // namespace castile::protocols
