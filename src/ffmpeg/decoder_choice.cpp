#include "ffmpeg/decoder_choice.h"

#include <atomic>
#include <cctype>
#include <map>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/settings.h"
#include "ffmpeg/compat.h"

namespace castile::ffmpeg {

namespace {

constexpr const char* group = "decoder.ffmpeg.codecs";

std::atomic<bool> made = false;   // nobody can have chosen before

/// The codec's name as a setting: "4xm" is _4xm, "acelp.kelvin" is acelpkelvin.
std::string setting_name(AVCodecID id) {
    const char* codec = avcodec_get_name(id);
    std::string name = std::string(group) + (std::isdigit(static_cast<unsigned char>(*codec)) ? "._" : ".");
    for (const char* c = codec; *c; ++c)
        if (std::isalnum(static_cast<unsigned char>(*c)) || *c == '_') name += *c;
    return name;
}

const LateSettings codecs(group, [] {
    std::map<std::string, std::vector<std::string>> decoders;
    void* position = nullptr;
    while (const AVCodec* codec = av_codec_iterate(&position))
        if (av_codec_is_decoder(codec) && (codec->type == AVMEDIA_TYPE_AUDIO || codec->type == AVMEDIA_TYPE_VIDEO))
            decoders[setting_name(codec->id)].push_back(codec->name);
    for (auto& [name, available] : decoders) {
        const std::string codec = name.substr(name.rfind('.') + 1);
        keep_setting(name, std::string(), "Decoder to use for " + codec + "; null: the first of those available.", true);
        keep_setting(name + ".available", std::move(available), "Decoders of " + codec + " there are.");
    }
    made = true;
});

}  // namespace

const AVCodec* chosen_decoder(const AVCodec* usual) {
    if (!usual || !made) return usual;
    const SettingBase* choice = find_setting(setting_name(usual->id));
    if (!choice || !choice->is_set()) return usual;
    const std::string name = std::get<std::string>(choice->value());
    const AVCodec* wanted = avcodec_find_decoder_by_name(name.c_str());
    if (wanted && wanted->id == usual->id) return wanted;
    static const Logger log("decoder.ffmpeg");
    log.important("{} is no decoder of {}: {} is used.", name, avcodec_get_name(usual->id), usual->name);
    return usual;
}

}  // namespace castile::ffmpeg
