#include "ffmpeg/catalogue.h"

#include <fmt/format.h>

#include <cstring>

#include "ffmpeg/compat.h"
#include "ffmpeg/handles.h"

namespace castile::ffmpeg {

MediaKind encoder_kind(const std::string& name) {
    const AVCodec* codec = avcodec_find_encoder_by_name(name.c_str());
    if (!codec)
        if (const AVCodecDescriptor* descriptor = avcodec_descriptor_get_by_name(name.c_str())) codec = avcodec_find_encoder(descriptor->id);
    if (!codec) return MediaKind::unknown;
    if (codec->type == AVMEDIA_TYPE_AUDIO) return MediaKind::audio;
    return codec->type == AVMEDIA_TYPE_VIDEO ? MediaKind::video : MediaKind::other;
}

namespace {

const AVOutputFormat* find_container(const std::string& name) {
    const AVOutputFormat* format = av_guess_format(name.c_str(), nullptr, nullptr);
    return format && !(format->flags & AVFMT_NOFILE) ? format : nullptr;
}

}  // namespace

bool has_container(const std::string& name) { return find_container(name) != nullptr; }

bool container_has_option(const std::string& container, const std::string& option) {
    const AVClass* general = avformat_get_class();
    if (av_opt_find(&general, option.c_str(), nullptr, 0, AV_OPT_SEARCH_FAKE_OBJ)) return true;
    const AVOutputFormat* format = find_container(container);
    return format && format->priv_class && av_opt_find(const_cast<AVClass**>(&format->priv_class), option.c_str(), nullptr, 0, AV_OPT_SEARCH_FAKE_OBJ);
}

std::string default_audio_codec(const std::string& container) {
    const AVOutputFormat* format = find_container(container);
    if (!format || format->audio_codec == AV_CODEC_ID_NONE) return "";
    const AVCodec* codec = avcodec_find_encoder(format->audio_codec);
    return codec ? codec->name : "";
}

ContainerTraits container_traits(const std::string& name) {
    using Kind = ContainerTraits::Kind;
    const AVOutputFormat* format = find_container(name);
    const std::string id = format ? format->name : name;
    struct Known { const char* id; Kind kind; const char* mime; const char* extension; };
    static constexpr Known table[] = {
        {"mp3", Kind::packed, "audio/mpeg", "mp3"},          {"mp2", Kind::packed, "audio/mpeg", "mp2"},
        {"adts", Kind::packed, "audio/aac", "aac"},          {"ac3", Kind::packed, "audio/ac3", "ac3"},
        {"eac3", Kind::packed, "audio/eac3", "eac3"},        {"mpegts", Kind::mpegts, "video/mp2t", "ts"},
        {"mp4", Kind::fmp4, "audio/mp4", "mp4"},             {"ipod", Kind::fmp4, "audio/mp4", "m4a"},
        {"mov", Kind::fmp4, "video/quicktime", "mov"},       {"ogg", Kind::headed, "audio/ogg", "ogg"},
        {"oga", Kind::headed, "audio/ogg", "oga"},           {"opus", Kind::headed, "audio/ogg", "opus"},
        {"flac", Kind::headed, "audio/flac", "flac"},        {"wav", Kind::headed, "audio/wav", "wav"},
        {"webm", Kind::headed, "audio/webm", "webm"},        {"matroska", Kind::headed, "audio/x-matroska", "mka"},
    };
    for (const Known& known : table)
        if (id == known.id) return {known.kind, known.mime, known.extension};
    ContainerTraits traits;
    if (!format) return traits;
    traits.mime = format->mime_type ? format->mime_type : "application/octet-stream";
    const std::string_view extensions = format->extensions ? format->extensions : "";
    traits.extension = extensions.empty() ? id : std::string(extensions.substr(0, extensions.find(',')));
    if (id.starts_with("pcm") || id.starts_with("s16") || id.starts_with("s24") || id.starts_with("s32") || id.starts_with("f32") || id == "u8")
        traits.kind = Kind::packed;
    return traits;
}

std::string codecs_string(const PacketStream& stream) {
    const AVCodecParameters& parameters = *stream.parameters;
    switch (parameters.codec_id) {
        // MPEG-4 audio object types; libav's AAC profiles are those minus one.
        case AV_CODEC_ID_AAC: return fmt::format("mp4a.40.{}", parameters.profile >= 0 ? parameters.profile + 1 : 2);
        case AV_CODEC_ID_MP3: return "mp4a.40.34";
        case AV_CODEC_ID_AC3: return "ac-3";
        case AV_CODEC_ID_EAC3: return "ec-3";
        case AV_CODEC_ID_FLAC: return "fLaC";
        default: return avcodec_get_name(parameters.codec_id);
    }
}

bool same_parameters(const PacketStream& a, const PacketStream& b) {
    const AVCodecParameters &p = *a.parameters, &q = *b.parameters;
    return p.codec_id == q.codec_id && p.sample_rate == q.sample_rate && p.ch_layout.nb_channels == q.ch_layout.nb_channels && p.profile == q.profile &&
           p.extradata_size == q.extradata_size && a.time_base_num == b.time_base_num && a.time_base_den == b.time_base_den &&
           (p.extradata_size == 0 || std::memcmp(p.extradata, q.extradata, static_cast<std::size_t>(p.extradata_size)) == 0);
}

int bitrate(const PacketStream& stream) noexcept { return static_cast<int>(stream.parameters->bit_rate); }

int layout_channels(const std::string& layout) {
    AVChannelLayout found{};
    if (av_channel_layout_from_string(&found, layout.c_str()) < 0) return 0;
    const int channels = found.nb_channels;
    av_channel_layout_uninit(&found);
    return channels;
}

}  // namespace castile::ffmpeg
