// Loudness of files (ITU-R BS.1770, by libebur128).

#include <ebur128.h>
#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/settings.h"
#include "builtins/define.h"
#include "builtins/lifecycle.h"
#include "codec/decoder.h"
#include "frame/ticks.h"
#include "request/request.h"

namespace castile::builtins {

namespace {

Setting<double> usual_ratio{"lufs.decoding_ratio", 50, "How many times faster than it plays a file's loudness may be measured."};
Setting<std::string> loudness_label{"lufs.integrated_metadata", "liq_integrated_lufs", "Label of the metadata for a file's loudness."};
Setting<double> target{"lufs.track_gain_target", -16, "Loudness that `enable_lufs_track_gain_metadata` brings a track to, in LUFS."};
Setting<double> highest_peak{"lufs.true_peak_max", -1, "Peak that its gain keeps a track below, in dB."};
Setting<std::string> gain_label{"normalize_track_gain_metadata", "liq_normalize_track_gain", "Label of the metadata for a track's gain."};

struct Closer {
    void operator()(ebur128_state* state) const noexcept { ebur128_destroy(&state); }
};

struct Loudness {
    double integrated, true_peak;   // LUFS, dB
};

/// Decodes the whole file, `ratio` times faster than it plays at most. Nothing when it cannot be decoded or is silent.
std::optional<Loudness> measure(const std::string& uri, double ratio, bool peak) {
    const RequestPtr request = Request::create(uri, {.resolve_metadata = false, .open = false, .cue_in_metadata = std::nullopt, .cue_out_metadata = std::nullopt});
    std::unique_ptr<Decoder> decoder;
    if (request->resolve(default_request_timeout()))
        if (auto opened = open_decoder(request->filename())) decoder = std::move(*opened);
    if (!decoder) {
        request->destroy(true);
        return std::nullopt;
    }
    const int rate = stream_parameters().samplerate;
    const std::unique_ptr<ebur128_state, Closer> state(ebur128_init(2, static_cast<unsigned long>(rate), EBUR128_MODE_I | (peak ? EBUR128_MODE_TRUE_PEAK : 0)));
    const auto begin = std::chrono::steady_clock::now();
    double seconds = 0;
    std::vector<float> interleaved;
    while (state && !shutdown_requested()) {
        const PcmBlock block = decoder->read(Ticks{rate / 5}, 2);
        const std::size_t n = block.samples();
        if (n == 0) break;
        interleaved.resize(2 * n);
        const auto left = block.channel(0), right = block.channel(block.channels() > 1 ? 1 : 0);
        for (std::size_t i = 0; i < n; ++i) {
            interleaved[2 * i] = left[i];
            interleaved[2 * i + 1] = right[i];
        }
        ebur128_add_frames_float(state.get(), interleaved.data(), n);
        seconds += static_cast<double>(n) / rate;
        if (ratio > 0) std::this_thread::sleep_until(begin + std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds / ratio)));
    }
    decoder.reset();
    request->destroy(true);
    Loudness found{};
    if (!state || ebur128_loudness_global(state.get(), &found.integrated) != EBUR128_SUCCESS || !std::isfinite(found.integrated)) return std::nullopt;
    double highest = 0;
    for (unsigned c = 0; peak && c < 2; ++c) {
        double one = 0;
        if (ebur128_true_peak(state.get(), c, &one) == EBUR128_SUCCESS) highest = std::max(highest, one);
    }
    found.true_peak = 20 * std::log10(std::max(highest, 1e-10));
    return found;
}

double ratio_of(const Value& given) { return given.is_null() ? usual_ratio.get() : given.as_float(); }

constexpr double replaygain_reference = -18;   // LUFS, of Replay Gain 2

const Definitions definitions("File", {
    {"file.lufs.compute", "The loudness of a file, in LUFS, measured by decoding it; null when that cannot be done.",
     {opt("ratio", "float?", "null", "How many times faster than it plays; null: `settings.lufs.decoding_ratio`."), pos("string", "The file.")}, "float?",
     [](const BuiltinArgs& a) {
        const auto found = measure(a[1].as_string(), ratio_of(a[0]), false);
        return found ? number(found->integrated) : Value::null(); }},
    {"file.lufs.compute_with_peak", "The loudness of a file, in LUFS, and its true peak, in dB, measured by decoding it; null when that cannot be done.",
     {opt("ratio", "float?", "null", "How many times faster than it plays; null: `settings.lufs.decoding_ratio`."), pos("string", "The file.")}, "{lufs : float, true_peak : float}?",
     [](const BuiltinArgs& a) {
        const auto found = measure(a[1].as_string(), ratio_of(a[0]), true);
        return found ? Value::record({{"lufs", number(found->integrated)}, {"true_peak", number(found->true_peak)}}) : Value::null(); }},
    {"file.replaygain.compute", "The gain, in dB, that brings a file to the loudness that Replay Gain 2 asks for (-18 LUFS), measured by decoding it; null when that cannot be done.",
     {opt("ratio", "float", "50.", "How many times faster than it plays."), pos("string", "The file.")}, "float?",
     [](const BuiltinArgs& a) {
        const auto found = measure(a[1].as_string(), a[0].as_float(), false);
        return found ? number(replaygain_reference - found->integrated) : Value::null(); }},
});

/// The gain that a file's tags tell, in dB.
std::optional<double> told_gain(const Metadata& tags) {
    for (const auto& [wanted, steps] : {std::pair("r128_track_gain", 256.), std::pair("replaygain_track_gain", 1.)})
        for (const auto& [label, value] : tags.entries()) {
            char* end = nullptr;
            const double gain = std::strtod(value.c_str(), &end);
            if (strcasecmp(label.c_str(), wanted) == 0 && end != value.c_str() && std::isfinite(gain)) return gain / steps;
        }
    return std::nullopt;
}

std::expected<ProtocolResult, Failure> with_gain(const std::string& uri, std::optional<double> gain) {
    ProtocolResult result{{uri}, false, {}};
    if (gain) result.metadata.set(gain_label.get(), fmt::format("{:.2f} dB", *gain));
    return result;
}

const RegisterProtocol replaygain{"replaygain", "Add the gain that Replay Gain asks for to the metadata: as the tags tell it, else measured.", "replaygain:uri",
                                  [](const std::string& uri, double) {
    if (const auto told = told_gain(read_file_metadata(local_path(uri)))) return with_gain(uri, told);
    const auto found = measure(uri, usual_ratio.get(), false);
    return with_gain(uri, found ? std::optional(replaygain_reference - found->integrated) : std::nullopt);
}};
const RegisterProtocol lufs{"lufs_track_gain", "Measure the loudness, and add the gain that brings it to `settings.lufs.track_gain_target` to the metadata.", "lufs_track_gain:uri",
                            [](const std::string& uri, double) {
    const auto found = measure(uri, usual_ratio.get(), false);
    return with_gain(uri, found ? std::optional(target.get() - found->integrated) : std::nullopt);
}};

}  // namespace

}  // namespace castile::builtins
