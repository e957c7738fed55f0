#pragma once
// The encoder literals, as the language wants them.

#include <functional>
#include <string_view>

#include "lang/engine.h"

namespace castile::formats {

/// For lang::Engine::Options.
lang::EncoderTyper encoder_typer();
lang::EncoderMaker encoder_maker();
std::function<bool(std::string_view)> encoder_available();

}  // namespace castile::formats
