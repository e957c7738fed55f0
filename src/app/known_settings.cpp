// Settings of Liquidsoap that no part of the engine reads yet: scripts may set them. One that comes to be read is declared
// beside the code that reads it and leaves this table.

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/settings.h"

namespace castile::app {

namespace {

enum class Kind { boolean, integer, number, text, optional_text, texts };

struct Row {
    const char* name;
    Kind kind;
    const char* default_value;   // of texts: separated by |
    const char* doc;
};

using enum Kind;

constexpr Row rows[] = {
    {"alsa.alsa_buffer", integer, "0", "Size of the sound card's buffer, in samples; 0: the card's own."},
    {"alsa.periods", integer, "0", "Periods of the sound card's buffer; 0: the card's own."},
    {"amplify.override", text, "liq_amplify", "Label of the metadata that sets the factor of `amplify`."},
    {"audio.converter.channel_layout.converters", texts, "native", "Ways of converting between channel layouts, the preferred first."},
    {"audio.converter.samplerate.converters", texts, "libsamplerate|ffmpeg|native", "Ways of converting between sample rates, the preferred first."},
    {"audio.converter.samplerate.libsamplerate.quality", text, "fast", "Quality of libsamplerate: best, medium, fast, zero_order or linear."},
    {"audio.converter.samplerate.native.quality", text, "linear", "Quality of the simple resampler: nearest or linear."},
    {"audioscrobbler.api_key", text, "", "Key of the scrobbling service."},
    {"audioscrobbler.api_secret", text, "", "Secret of the scrobbling service."},
    {"audioscrobbler.url", text, "https://ws.audioscrobbler.com/2.0/", "Address of the scrobbling service."},
    {"autocue.amplify_aliases", texts, "replaygain_track_gain", "Labels that also get the gain that autocue found."},
    {"autocue.amplify_behavior", text, "override", "What becomes of a gain that a file has already: override, ignore or keep."},
    {"autocue.internal.cross_threshold", number, "-7", "Loudness, below the track's, at which the next track may start, in dB."},
    {"autocue.internal.cue_in_threshold", number, "-34", "Loudness, below the track's, at which it is thought to begin, in dB."},
    {"autocue.internal.cue_out_threshold", number, "-42", "Loudness, below the track's, at which it is thought to be over, in dB."},
    {"autocue.internal.lufs_target", number, "-14", "Loudness that tracks are brought to, in LUFS."},
    {"autocue.internal.max_overlap", number, "6", "Longest time that two tracks are heard together, in seconds."},
    {"autocue.internal.metadata_override", texts, "liq_cue_in|liq_cue_out|liq_fade_in|liq_fade_in_delay|liq_fade_out|liq_fade_out_delay|liq_disable_autocue",
     "A track with one of these labels is not analysed."},
    {"autocue.internal.ratio", number, "70", "How many times faster than it plays a track may be analysed."},
    {"autocue.internal.sustained_endings_dropoff", number, "15", "Fall in loudness, in percent, that ends a sustained ending."},
    {"autocue.internal.sustained_endings_enabled", boolean, "true", "Look for endings that are held long?"},
    {"autocue.internal.sustained_endings_min_duration", number, "1", "Shortest ending that counts as sustained, in seconds."},
    {"autocue.internal.sustained_endings_slope", number, "20", "Largest fall in loudness, in percent, within a sustained ending."},
    {"autocue.internal.sustained_endings_threshold_limit", number, "2", "How far below the usual threshold a sustained ending may go, as a factor."},
    {"autocue.internal.timeout", number, "10", "Longest time that an analysis may take, in seconds."},
    {"autocue.metadata.priority", integer, "10", "Rank of autocue among the readers of metadata."},
    {"autocue.preferred", text, "internal", "Which of `settings.autocue.implementations` is used."},
    {"charset.encodings", texts, "UTF-8|ISO-8859-1|UTF-16", "Encodings that texts of unknown encoding are tried in."},
    {"charset.path", text, "/usr/share/camomile", "Folder of the tables of encodings; ours are built in."},
    {"clock.child.max_buffer", number, "10", "Longest time that a clock may be ahead of the one it follows, in seconds."},
    {"crossfade.assume_autocue", boolean, "false", "Take for granted that tracks have the fades and cue points of autocue?"},
    {"debug", boolean, "false", "Be strict about the inner workings, for developers?"},
    {"debug_errors", boolean, "false", "Show where in the program an error came from?"},
    {"decoder.debug", boolean, "false", "Log how a decoder is chosen?"},
    {"decoder.decoders", texts, "wav|aiff|pcm/basic|srt|raw audio|midi|image|ffmpeg|flac|ogg|mad", "Decoders that may be used, the preferred first."},
    {"decoder.ffmpeg.max_interleave_delta", number, "0.04", "Longest time between packets of two streams that belong together, in seconds."},
    {"decoder.ffmpeg.max_interleave_duration", number, "5", "Longest time to wait for a packet of every stream, in seconds."},
    {"decoder.file_extensions.aac", texts, "aac", "Extensions of raw AAC files."},
    {"decoder.file_extensions.aiff", texts, "aiff|aif|aifc", "Extensions of AIFF files."},
    {"decoder.file_extensions.ffmpeg", texts,
     "264|265|302|3g2|3gp|669|722|A64|a64|aa|aa3|aac|aax|ac3|acm|adf|adp|ads|adts|adx|aea|afc|aif|aifc|aiff|aix|amf|amr|ams|amv|ape|ap"
     "l|apm|apng|aptx|aptxhd|aqt|asf|ass|ast|au|aud|avi|avr|avs|avs2|bcstm|bfstm|binka|bit|bmv|brstm|c2|calf|cavs|cdata|cdg|cdxl|cgi|c"
     "hk|cif|cpk|cvg|dat|daud|dav|dbm|dif|digi|dmf|dnxhd|dnxhr|drc|dsm|dss|dtk|dtm|dts|dtshd|dv|dvd|eac3|f4v|fap|far|ffmeta|fits|flac|"
     "flm|flv|fsb|fwse|g722|g723_1|g729|gdm|genh|gif|gsm|gxf|h261|h263|h264|h265|hca|hevc|ice|ico|idf|idx|ifv|imf|imx|ipu|ircam|ism|is"
     "ma|ismv|it|ivf|ivr|j2b|jss|kux|latm|lbc|loas|lrc|lvf|m15|m1v|m2a|m2t|m2ts|m2v|m3u8|m4a|m4b|m4v|mac|mca|mcc|mdl|med|mj2|mjpeg|mjp"
     "g|mk3d|mka|mks|mkv|mlp|mmcmp|mmf|mms|mo3|mod|mods|moflex|mov|mp2|mp3|mp4|mpa|mpc|mpd|mpeg|mpg|mpl2|mptm|msbc|msf|mt2|mtaf|mtm|mt"
     "s|musx|mvi|mxf|mxg|nist|nsp|nst|nut|obu|oga|ogg|ogv|okt|oma|omg|opus|paf|pcm|pjs|plm|psm|psp|pt36|ptm|pvf|qcif|ra|rco|rcv|rgb|rm"
     "|roq|rsd|rso|rt|s3m|sami|sbc|sbg|scc|sdr2|sds|sdx|ser|sf|sfx|sfx2|sga|shn|sln|smi|son|sox|spdif|sph|spx|srt|ss2|ssa|st26|stk|stl"
     "|stm|stp|str|sub|sup|svag|svs|swf|tak|tco|thd|ts|tta|ttml|tun|txt|ty|ty+|ult|umx|v|v210|vag|vb|vc1|vc2|viv|vob|voc|vpk|vqe|vqf|v"
     "ql|vtt|w64|wav|webm|wma|wmv|wow|wsd|wtv|wv|xl|xm|xml|xmv|xpk|xvag|y4m|yop|yuv",
     "Extensions of files that FFmpeg is tried on."},
    {"decoder.file_extensions.ffmpeg.images", texts,
     "bmp|cri|dds|dng|dpx|exr|im1|im24|im32|im8|j2c|j2k|jls|jp2|jpc|jpeg|jpg|jps|ljpg|mng|mpg1-img|mpg2-img|mpg4-img|mpo|pam|pbm|pcd|p"
     "ct|pcx|pfm|pgm|pgmyuv|pic|pict|pix|png|pnm|pns|ppm|ptx|ras|raw|rs|sgi|sun|sunras|svg|svgz|tga|tif|tiff|webp|xbm|xface|xpm|xwd|y|"
     "yuv10",
     "Extensions of pictures that FFmpeg is tried on."},
    {"decoder.file_extensions.flac", texts, "flac", "Extensions of FLAC files."},
    {"decoder.file_extensions.flac_metadata", texts, "flac", "Extensions of files with FLAC tags."},
    {"decoder.file_extensions.id3", texts, "mp3|wav", "Extensions of files with ID3 tags."},
    {"decoder.file_extensions.image_metadata", texts, "png|jpg|jpeg", "Extensions of pictures whose size is read."},
    {"decoder.file_extensions.mad", texts, "mp3|mp2|mp1", "Extensions of MPEG audio files."},
    {"decoder.file_extensions.mp3", texts, "mp3|mp2|mp1", "Extensions of MPEG audio files."},
    {"decoder.file_extensions.mp4", texts, "m4a|m4b|m4p|m4v|m4r|3gp|mp4", "Extensions of MP4 files."},
    {"decoder.file_extensions.ogg", texts, "ogv|oga|ogx|ogg|opus", "Extensions of Ogg files."},
    {"decoder.file_extensions.ogg_metadata", texts, "ogg", "Extensions of files with Ogg tags."},
    {"decoder.file_extensions.srt", texts, "srt", "Extensions of subtitles."},
    {"decoder.file_extensions.video_metadata", texts, "avi|mp4", "Extensions of videos whose size is read."},
    {"decoder.file_extensions.wav", texts, "wav|wave", "Extensions of WAV files."},
    {"decoder.flac_metadata.separator", text, ", ", "Between the values of a FLAC tag that comes several times."},
    {"decoder.image_file_decoders", texts, "ppm|ffmpeg", "Decoders of pictures, the preferred first."},
    {"decoder.mime_types.aac", texts, "audio/aac|audio/aacp|audio/x-hx-aac-adts", "MIME types of raw AAC files."},
    {"decoder.mime_types.aiff", texts, "audio/x-aiff|audio/aiff", "MIME types of AIFF files."},
    {"decoder.mime_types.basic", texts, "audio/basic", "MIME types of bare samples."},
    {"decoder.mime_types.ffmpeg", texts,
     "application/f4v|application/ffmpeg|application/mp4|application/mxf|application/octet-stream|application/octet-stream|application"
     "/ogg|application/vnd.pg.format|application/vnd.rn-realmedia|application/vnd.smaf|application/x-mpegURL|application/x-ogg|applica"
     "tion/x-pgs|application/x-shockwave-flash|application/x-subrip|application/xml|audio/G722|audio/MP4A-LATM|audio/MPA|audio/aac|aud"
     "io/aacp|audio/aiff|audio/amr|audio/basic|audio/bit|audio/flac|audio/g723|audio/iLBC|audio/mp4|audio/mpeg|audio/ogg|audio/vnd.wav"
     "e|audio/wav|audio/wave|audio/webm|audio/x-ac3|audio/x-adpcm|audio/x-caf|audio/x-dca|audio/x-eac3|audio/x-flac|audio/x-gsm|audio/"
     "x-hx-aac-adts|audio/x-ogg|audio/x-oma|audio/x-tta|audio/x-voc|audio/x-wav|audio/x-wavpack|multipart/x-mixed-replace;boundary=ffs"
     "erver|text/vtt|text/x-ass|text/x-jacosub|text/x-microdvd|video/3gpp|video/3gpp2|video/MP2T|video/mp2t|video/mp4|video/mpeg|video"
     "/ogg|video/webm|video/x-flv|video/x-h261|video/x-h263|video/x-m4v|video/x-matroska|video/x-mjpeg|video/x-ms-asf|video/x-msvideo|"
     "video/x-nut",
     "MIME types that FFmpeg is tried on."},
    {"decoder.mime_types.ffmpeg.images", texts, "image/gif|image/jpeg|image/png|image/vnd.microsoft.icon|image/webp", "MIME types of pictures that FFmpeg is tried on."},
    {"decoder.mime_types.flac", texts, "audio/flac|audio/x-flac", "MIME types of FLAC files."},
    {"decoder.mime_types.flac_metadata", texts, "audio/flac", "MIME types of files with FLAC tags."},
    {"decoder.mime_types.id3", texts, "audio/mpeg|audio/x-wav", "MIME types of files with ID3 tags."},
    {"decoder.mime_types.image_metadata", texts, "image/png|image/jpeg", "MIME types of pictures whose size is read."},
    {"decoder.mime_types.mad", texts, "audio/mpeg|audio/MPA", "MIME types of MPEG audio files."},
    {"decoder.mime_types.mp3", texts, "audio/mpeg|audio/MPA", "MIME types of MPEG audio files."},
    {"decoder.mime_types.mp4", texts, "audio/mp4|application/mp4", "MIME types of MP4 files."},
    {"decoder.mime_types.ogg", texts, "audio/opus|application/ogg|application/x-ogg|audio/x-ogg|audio/ogg|video/ogg", "MIME types of Ogg files."},
    {"decoder.mime_types.ogg_metadata", texts, "audio/ogg", "MIME types of files with Ogg tags."},
    {"decoder.mime_types.srt", texts, "application/x-subrip", "MIME types of subtitles."},
    {"decoder.mime_types.video_metadata", texts, "video/x-msvideo|video/mp4", "MIME types of videos whose size is read."},
    {"decoder.mime_types.wav", texts, "audio/vnd.wave|audio/wav|audio/wave|audio/x-wav", "MIME types of WAV files."},
    {"decoder.ogg_metadata.separator", text, ", ", "Between the values of an Ogg tag that comes several times."},
    {"decoder.priorities.aac", integer, "1", "Rank of the decoder of raw AAC."},
    {"decoder.priorities.aiff", integer, "1", "Rank of the decoder of AIFF."},
    {"decoder.priorities.basic", integer, "1", "Rank of the decoder of bare samples."},
    {"decoder.priorities.ffmpeg", integer, "10", "Rank of FFmpeg among the decoders."},
    {"decoder.priorities.flac", integer, "1", "Rank of the decoder of FLAC."},
    {"decoder.priorities.image.ffmpeg", integer, "10", "Rank of FFmpeg among the decoders of pictures."},
    {"decoder.priorities.image.ppm", integer, "1", "Rank of the decoder of PPM pictures."},
    {"decoder.priorities.mad", integer, "1", "Rank of the decoder of MPEG audio."},
    {"decoder.priorities.mp4", integer, "1", "Rank of the decoder of MP4."},
    {"decoder.priorities.ogg", integer, "15", "Rank of the decoder of Ogg."},
    {"decoder.priorities.srt", integer, "1", "Rank of the reader of subtitles."},
    {"decoder.priorities.wav", integer, "1", "Rank of the decoder of WAV."},
    {"default_font", text, "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", "Font of texts in videos."},
    {"encoder.metadata.cover", texts, "pic|apic|metadata_block_picture|cover", "Labels of the metadata that hold a cover."},
    {"fade.in.curve", number, "10", "Steepness of a logarithmic or exponential fade-in."},
    {"fade.in.duration", number, "3", "Length of a fade-in, in seconds."},
    {"fade.in.type", text, "lin", "Shape of a fade-in: lin, sin, log or exp."},
    {"fade.out.curve", number, "10", "Steepness of a logarithmic or exponential fade-out."},
    {"fade.out.duration", number, "3", "Length of a fade-out, in seconds."},
    {"fade.out.type", text, "lin", "Shape of a fade-out: lin, sin, log or exp."},
    {"ffmpeg.content.copy.relaxed_compatibility_check", boolean, "false", "Let encoded streams of different parameters follow each other?"},
    {"ffmpeg.filter_max_buffer", number, "10", "Most that a filter of FFmpeg may hold back, in seconds."},
    {"ffmpeg.scaling_algorithm", text, "bicubic", "How pictures are scaled: fast_bilinear, bilinear or bicubic."},
    {"frame.checksum.metadata", boolean, "false", "Let checksums of frames cover metadata?"},
    {"frame.checksum.track_marks", boolean, "false", "Let checksums of frames cover track marks?"},
    {"frame.midi.channels", integer, "0", "Number of MIDI channels."},
    {"frame.video.default", boolean, "false", "Do sources have video when nothing says otherwise?"},
    {"frame.video.detect_dimensions", boolean, "true", "Take the size of videos from the first one that is read?"},
    {"frame.video.framerate", integer, "25", "Pictures per second."},
    {"frame.video.height", integer, "720", "Height of videos, in pixels."},
    {"frame.video.width", integer, "1280", "Width of videos, in pixels."},
    {"metadata.map.insert_missing", boolean, "false", "Does `metadata.map` give a track without metadata some?"},
    {"metadata.map.strip", boolean, "true", "Does `metadata.map` remove labels that are empty?"},
    {"mpd.debug", boolean, "false", "Log what is said to the music player daemon?"},
    {"mpd.host", text, "127.0.0.1", "Host of the music player daemon."},
    {"mpd.path", text, "/var/lib/mpd/music", "Folder of the music player daemon."},
    {"mpd.port", integer, "6600", "Port of the music player daemon."},
    {"mpd.randomize", boolean, "true", "Shuffle what the music player daemon finds?"},
    {"protocol.ffmpeg.metadata", boolean, "true", "Keep the metadata of what `ffmpeg:` converts?"},
    {"protocol.ffmpeg.path", text, "ffmpeg", "Program that `ffmpeg:` runs."},
    {"request.dresolvers", texts, "wav/aiff|ffmpeg|flac|ogg_flac|mad|vorbis", "Ways of finding the length of a file, the preferred first."},
    {"request.metadata_decoders", texts, "video-metadata|ogg_native|flac_native|ID3|ID3v1|ID3v2|image|ffmpeg|flac|ogg", "Readers of tags that may be used."},
    {"request.metadata_decoders.priorities.ffmpeg", integer, "1", "Rank of FFmpeg among the readers of tags."},
    {"request.metadata_decoders.priorities.flac", integer, "1", "Rank of the reader of FLAC tags."},
    {"request.metadata_decoders.priorities.flac_native", integer, "1", "Rank of the built-in reader of FLAC tags."},
    {"request.metadata_decoders.priorities.id3", integer, "1", "Rank of the reader of ID3 tags."},
    {"request.metadata_decoders.priorities.id3v1", integer, "1", "Rank of the reader of ID3 version 1 tags."},
    {"request.metadata_decoders.priorities.id3v2", integer, "1", "Rank of the reader of ID3 version 2 tags."},
    {"request.metadata_decoders.priorities.image_metadata", integer, "1", "Rank of the reader of pictures' sizes."},
    {"request.metadata_decoders.priorities.mp4", integer, "1", "Rank of the reader of MP4 tags."},
    {"request.metadata_decoders.priorities.ogg", integer, "1", "Rank of the reader of Ogg tags."},
    {"request.metadata_decoders.priorities.ogg_metadata", integer, "1", "Rank of the built-in reader of Ogg tags."},
    {"request.metadata_decoders.priorities.request_metadata", integer, "5", "Rank of the metadata that a request brings."},
    {"request.metadata_decoders.priorities.video_metadata", integer, "1", "Rank of the reader of videos' sizes."},
    {"request.metadata_decoders.recode", boolean, "true", "Bring tags to UTF-8?"},
    {"request.metadata_decoders.recode.exclude", texts, "", "Labels of tags to leave as they are."},
    {"request.metadata_decoders.recode.exclude.cover", boolean, "true", "Leave covers as they are?"},
    {"runtime.strip_types", boolean, "true", "Forget types once a script runs?"},
    {"scheduler.fast_queues", integer, "0", "Number of queues for tasks that are quick."},
    {"scheduler.generic_queues", integer, "5", "Number of queues for any task."},
    {"scheduler.log", boolean, "false", "Log what the scheduler does?"},
    {"scheduler.non_blocking_queues", integer, "2", "Number of queues for tasks that never wait."},
    {"source.composition.max_fade", number, "1", "Longest fade between the sources of a switch, in seconds."},
    {"video.converter.preferred", text, "ffmpeg", "What converts pictures."},
    {"video.text", text, "native", "What draws texts into videos."},
};

constexpr std::pair<const char*, const char*> groups[] = {
    {"lufs", "Loudness."},
    {"alsa", "Sound through ALSA."},
    {"audio", "Conversion of audio."},
    {"autocue", "Cue points and fades found by listening to a file."},
    {"charset", "Encodings of texts."},
    {"clock", "How streams keep time."},
    {"decoder", "How files are decoded."},
    {"decoder.ffmpeg.codecs", "Which decoder of FFmpeg reads what."},
    {"encoder", "How streams are encoded."},
    {"fade", "Fades."},
    {"ffmpeg", "FFmpeg's libraries."},
    {"frame", "What all streams share."},
    {"harbor", "The HTTP server."},
    {"icecast", "Icecast servers."},
    {"init", "The start of the program."},
    {"log", "The log."},
    {"playlist", "Lists of files."},
    {"protocol", "Protocols of requests."},
    {"request", "Requests."},
    {"scheduler", "How work is shared out."},
    {"server", "Commands for a running script."},
    {"station", "The station's page."},
    {"string", "Strings."},
};

std::vector<std::string> split(std::string_view s) {
    std::vector<std::string> parts;
    while (!s.empty()) {
        const std::size_t end = std::min(s.find('|'), s.size());
        parts.emplace_back(s.substr(0, end));
        s.remove_prefix(std::min(end + 1, s.size()));
    }
    return parts;
}

SettingValue value_of(const Row& row) {
    switch (row.kind) {
    case boolean: return std::string_view(row.default_value) == "true";
    case integer: return std::stoi(row.default_value);
    case number: return std::stod(row.default_value);
    case texts: return split(row.default_value);
    case text:
    case optional_text: break;
    }
    return std::string(row.default_value);
}

const LateSettings known("", [] {
    for (const Row& row : rows) keep_setting(row.name, value_of(row), std::string(row.doc) + " Not used yet.", row.kind == optional_text);
    for (const auto& [name, doc] : groups) describe_setting_group(name, doc);
});

}  // namespace

}  // namespace castile::app
