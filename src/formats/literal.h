#pragma once
// How a literal is declared, and how its parameters are read.

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/media_format.h"
#include "lang/engine.h"
#include "lang/term.h"

namespace castile::formats {

/// Reads the parameters of one literal, each once; finish() refuses what is left. Throws ScriptError (8) at the parameter.
class Parameters {
public:
    explicit Parameters(const lang::EncoderLiteral& literal);

    std::optional<int> integer(std::string_view label);
    std::optional<int> integer_of(std::string_view label, std::initializer_list<int> allowed);
    std::optional<int> integer_between(std::string_view label, int low, int high);
    std::optional<double> floating(std::string_view label);
    std::optional<bool> boolean(std::string_view label);
    std::optional<std::string> text(std::string_view label);
    std::optional<std::string> text_of(std::string_view label, std::initializer_list<std::string_view> allowed);
    std::optional<std::string> any(std::string_view label);   ///< a bool, number or string, as libav would take it
    bool word(std::string_view word);                 ///< a bare word or an unlabelled string
    /// stereo, mono, stereo=, mono=, channels=; 2 when not given.
    int channels();
    int samplerate();                                 ///< 0 when not given
    /// The first nested literal of one of these names.
    const lang::EncoderLiteral* nested(std::initializer_list<std::string_view> names);
    /// The next parameter not read yet, in order.
    const lang::EncoderLiteral::Param* next();

    [[noreturn]] void refuse(const std::string& message) const;                      ///< at the last parameter read
    void finish();
    lang::Span where() const noexcept { return last_; }                               ///< of the last parameter read

private:
    const lang::EncoderLiteral::Param* take(std::string_view label);
    const lang::EncoderLiteral& literal_;
    std::vector<bool> used_;
    lang::Span last_;
};

/// "1", "0.5", "text", "1" for true: how libav takes a value; nullopt for what it cannot take.
std::optional<std::string> option_text(const lang::Value& value);
/// In double quotes, for canonical literals and messages.
std::string in_quotes(std::string_view text);

struct FormatLiteral {
    std::string name;                                              ///< "mp3.vbr"
    std::string encoder;                                           ///< of libav; empty: always there
    MediaSpec (*make)(Parameters& parameters);                     ///< reads all it knows; finish() is called after it
    std::string (*type)(const lang::term::Encoder&, lang::Span);   ///< null: audio=pcm(channels of the literal)
};

class RegisterFormat {
public:
    explicit RegisterFormat(FormatLiteral literal);
};

const FormatLiteral* find_format(std::string_view name);
bool available(const FormatLiteral& literal);

/// "pcm(stereo)" for the channels a literal asks for; the default type of an audio literal.
std::string pcm_type(int channels);
int static_channels(const lang::term::Encoder& encoder);
[[noreturn]] void refuse_at(lang::Span span, const std::string& message);

/// One encoded track named "audio".
MediaSpec audio_spec(std::string name, std::string container, std::string codec, int channels, int samplerate);
/// The canonical literal of such a spec, from its name, channels, rate and options.
void describe(MediaSpec& spec);

}  // namespace castile::formats
