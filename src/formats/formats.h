#pragma once
// The encoder literals, as the language wants them.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lang/engine.h"

namespace castile::formats {

/// For lang::Engine::Options.
lang::EncoderTyper encoder_typer();
lang::EncoderMaker encoder_maker();
std::function<bool(std::string_view)> encoder_available();
/// "aac", "ffmpeg", "mp3.vbr", ...: those that this libav has the encoders for.
std::vector<std::string> literal_names();

}  // namespace castile::formats
