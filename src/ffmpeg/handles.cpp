#include "ffmpeg/handles.h"

#include <cctype>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/settings.h"
#include "ffmpeg/compat.h"

extern "C" {
#include <libavutil/log.h>
#include <libswresample/swresample.h>
}

namespace castile::ffmpeg {

void Free::operator()(AVCodecContext* p) const noexcept { avcodec_free_context(&p); }
void Free::operator()(AVFrame* p) const noexcept { av_frame_free(&p); }
void Free::operator()(AVPacket* p) const noexcept { av_packet_free(&p); }
void Free::operator()(SwrContext* p) const noexcept { swr_free(&p); }
void CloseInput::operator()(AVFormatContext* p) const noexcept { avformat_close_input(&p); }

FramePtr make_frame() {
    FramePtr frame(av_frame_alloc());
    if (!frame) throw std::bad_alloc();
    return frame;
}

PacketPtr make_packet() {
    PacketPtr packet(av_packet_alloc());
    if (!packet) throw std::bad_alloc();
    return packet;
}

Dictionary::~Dictionary() { av_dict_free(&dictionary_); }

void Dictionary::add(const OptionList& options) {
    for (const auto& [name, value] : options) set(name.c_str(), value);
}

void Dictionary::set(const char* name, const std::string& value) {
    if (av_dict_set(&dictionary_, name, value.c_str(), 0) < 0) throw std::bad_alloc();
}

bool Dictionary::has(const std::string& name) const noexcept {
    return av_dict_get(dictionary_, name.c_str(), nullptr, AV_DICT_MATCH_CASE) != nullptr;
}

std::string error_text(int code) {
    char buffer[AV_ERROR_MAX_STRING_SIZE] = {};
    if (av_strerror(code, buffer, sizeof buffer) < 0) return "error " + std::to_string(code);
    std::string text = buffer;
    if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1]))) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
    while (text.ends_with('.')) text.pop_back();
    return text;
}

namespace {

Setting<std::string> verbosity{"ffmpeg.log.verbosity", "warning", "What FFmpeg says: quiet, panic, fatal, error, warning, info, verbose or debug."};
Setting<int> shown_at{"ffmpeg.log.level", 3, "Level that FFmpeg's messages are logged at; 5 as long as it is not set."};
Setting<bool> capture{"ffmpeg.log.capture", false, "Log FFmpeg's messages in place of printing them? They are always logged."};

int most_verbose() {
    constexpr std::pair<const char*, int> levels[] = {{"quiet", AV_LOG_QUIET},     {"panic", AV_LOG_PANIC}, {"fatal", AV_LOG_FATAL},     {"error", AV_LOG_ERROR},
                                                      {"warning", AV_LOG_WARNING}, {"info", AV_LOG_INFO},   {"verbose", AV_LOG_VERBOSE}, {"debug", AV_LOG_DEBUG}};
    const std::string wanted = verbosity.get();
    for (const auto& [name, level] : levels)
        if (wanted == name) return level;
    return AV_LOG_WARNING;
}

void forward_log(void* object, int level, const char* format, va_list arguments) {
    const LogLevel as = shown_at.is_set() ? static_cast<LogLevel>(shown_at.get()) : LogLevel::debug;
    if (level > AV_LOG_DEBUG || !log_enabled(as) || level > most_verbose()) return;
    char line[512];
    int prefix = 1;
    av_log_format_line2(object, level, format, arguments, line, sizeof line, &prefix);
    std::string_view text(line);
    while (text.ends_with('\n')) text.remove_suffix(1);
    if (!text.empty()) log_line(as, "ffmpeg", text);
}

}  // namespace

void init() noexcept {
    static std::once_flag once;
    std::call_once(once, [] { av_log_set_callback(forward_log); });
}

}  // namespace castile::ffmpeg
