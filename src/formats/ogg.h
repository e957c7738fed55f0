#pragma once
// What %ogg(...) and the literals that stand for it share.

#include "formats/literal.h"

namespace castile::formats {

/// Ogg around the spec's track: comments at each new metadata, the page size when asked for.
MediaSpec in_ogg(MediaSpec spec, Parameters& parameters);

MediaSpec make_vorbis(Parameters& p);
MediaSpec make_vorbis_cbr(Parameters& p);
MediaSpec make_vorbis_abr(Parameters& p);
MediaSpec make_opus(Parameters& p);
MediaSpec make_flac_track(Parameters& p);   ///< without a container

}  // namespace castile::formats
