// Texts that are spoken: say:, text2wave:, pico2wave:, gtts:, macos_say:, polly:.

#include <fmt/format.h>

#include <string>

#include "base/child_process.h"
#include "base/settings.h"
#include "protocols/amazon.h"
#include "protocols/command.h"

namespace castile::protocols {

namespace {

#ifdef __APPLE__
constexpr const char* usual_speaker = "macos_say";
#else
constexpr const char* usual_speaker = "pico2wave";
#endif

Setting<std::string> speaker{"protocol.say.implementation", usual_speaker, "What `say:` speaks with: pico2wave, gtts, text2wave or macos_say."};
Setting<std::string> text2wave_path{"protocol.text2wave.path", "text2wave", "Program of text2wave."};
Setting<std::string> pico2wave_path{"protocol.pico2wave.path", "pico2wave", "Program of pico2wave."};
Setting<std::string> pico2wave_language{"protocol.pico2wave.lang", "en-US", "Language of pico2wave: en-US, en-GB, es-ES, de-DE, fr-FR or it-IT."};
Setting<std::string> gtts_path{"protocol.gtts.path", "gtts-cli", "Program that fetches Google's speech."};
Setting<std::string> gtts_language{"protocol.gtts.lang", "en", "Language of Google's speech."};
Setting<std::string> gtts_options{"protocol.gtts.options", "", "More arguments of that program."};
Setting<std::string> macos_path{"protocol.macos_say.path", "say", "Program that speaks on macOS."};
Setting<std::string> macos_options{"protocol.macos_say.options", "", "More arguments of that program."};
Setting<std::string> polly_format{"protocol.aws.polly.format", "mp3", "Format of Amazon's speech: mp3, ogg_vorbis or pcm."};
Setting<std::string> polly_voice{"protocol.aws.polly.voice", "Joanna", "Voice of Amazon's speech."};
Setting<std::vector<std::string>> polly_arguments{"protocol.aws.polly.extra_args", {}, "More arguments of that program for speech."};

using Result = std::expected<ProtocolResult, Failure>;

bool always(const std::string&) { return true; }

const RegisterProtocol say{"say", "Speak a text, with the program that `settings.protocol.say.implementation` names.", "say:text",
                           [](const std::string& text, double) -> Result { return ProtocolResult{{speaker.get() + ":" + text}, false, {}}; }, always};
const RegisterProtocol text2wave{"text2wave", "Speak a text with Festival's text2wave.", "text2wave:text",
                                 [](const std::string& text, double timeout) {
    return file_by_command(fmt::format("printf '%s\\n' {} | {} -scale 1.9 > $(output)", shell_quoted(text), text2wave_path.get()), "wav", timeout);
}, always};
const RegisterProtocol pico2wave{"pico2wave", "Speak a text with pico2wave.", "pico2wave:text", [](const std::string& text, double timeout) {
    return file_by_command(fmt::format("{} -l {} -w $(output) -- {}", pico2wave_path.get(), shell_quoted(pico2wave_language.get()), shell_quoted(text)), "wav", timeout);
}, always};
const RegisterProtocol gtts{"gtts", "Speak a text with Google's speech, by the program gtts-cli.", "gtts:text", [](const std::string& text, double timeout) {
    return file_by_command(fmt::format("{} --lang {} {} -o $(output) -- {}", gtts_path.get(), shell_quoted(gtts_language.get()), gtts_options.get(), shell_quoted(text)),
                           "mp3", timeout);
}, always};
const RegisterProtocol macos_say{"macos_say", "Speak a text with macOS's say.", "macos_say:text", [](const std::string& text, double timeout) {
    return file_by_command(fmt::format("{} {} -o $(output) {}", macos_path.get(), macos_options.get(), shell_quoted(text)), "aiff", timeout);
}, always};
const RegisterProtocol polly{"polly", "Speak a text with Amazon's Polly, by the program aws.", "polly:text", [](const std::string& text, double timeout) {
    const std::string format = polly_format.get();
    std::string more;
    for (const std::string& word : polly_arguments.get()) more += " " + word;
    return file_by_command(fmt::format("{} polly synthesize-speech --output-format {} --text {} --voice-id {}{} $(output)", amazon_command(), shell_quoted(format),
                                       shell_quoted(text), shell_quoted(polly_voice.get()), more),
                           format == "mp3" ? "mp3" : format == "ogg_vorbis" ? "ogg" : "wav", timeout);
}, always};

}  // namespace

}  // namespace castile::protocols
