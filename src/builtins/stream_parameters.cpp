// What all streams share, for scripts.

#include "builtins/define.h"
#include "frame/ticks.h"
#include "lang/settings_globals.h"

namespace castile::builtins {

namespace {

Value duration() { return number(lang::setting_value(*find_setting("frame.duration")).as_float()); }

const Definitions settings("Settings", {
    {"frame.duration", "Length of a frame in seconds.", {}, "float", [](const BuiltinArgs&) { return duration(); }},
    {"audio.samplerate", "Samples per second of every stream.", {}, "int", [](const BuiltinArgs&) { return integer(stream_parameters().samplerate); }},
    {"audio.channels", "Default number of audio channels.", {}, "int", [](const BuiltinArgs&) { return integer(stream_parameters().channels); }},
    {"seconds_of_main", "A count of ticks in seconds.", {pos("int")}, "float", [](const BuiltinArgs& a) { return number(to_seconds(Ticks{a[0].as_int()})); }},
});

}  // namespace

}  // namespace castile::builtins
