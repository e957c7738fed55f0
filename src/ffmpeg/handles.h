#pragma once
// Owners of libav objects, error texts, and lists of options with what libav left of them.

#include <memory>
#include <string>
#include <utility>
#include <vector>

struct AVFormatContext;
struct AVCodecContext;
struct AVFrame;
struct AVPacket;
struct AVDictionary;
struct SwrContext;

namespace castile::ffmpeg {

struct Free {
    void operator()(AVCodecContext*) const noexcept;
    void operator()(AVFrame*) const noexcept;
    void operator()(AVPacket*) const noexcept;
    void operator()(SwrContext*) const noexcept;
};
struct CloseInput { void operator()(AVFormatContext*) const noexcept; };

using CodecContext = std::unique_ptr<AVCodecContext, Free>;
using FramePtr = std::unique_ptr<AVFrame, Free>;
using PacketPtr = std::unique_ptr<AVPacket, Free>;
using Resample = std::unique_ptr<SwrContext, Free>;
using InputContext = std::unique_ptr<AVFormatContext, CloseInput>;

/// Throw std::bad_alloc.
FramePtr make_frame();
PacketPtr make_packet();

/// Options by name, as text; libav parses the values.
using OptionList = std::vector<std::pair<std::string, std::string>>;

/// An AVDictionary for the length of a call.
class Dictionary {
public:
    Dictionary() = default;
    explicit Dictionary(const OptionList& options) { add(options); }
    ~Dictionary();
    Dictionary(const Dictionary&) = delete;
    Dictionary& operator=(const Dictionary&) = delete;

    void add(const OptionList& options);
    void set(const char* name, const std::string& value);
    AVDictionary** out() noexcept { return &dictionary_; }
    const AVDictionary* get() const noexcept { return dictionary_; }
    bool has(const std::string& name) const noexcept;

private:
    AVDictionary* dictionary_ = nullptr;
};

/// libav's text for an error code, first letter small, no full stop.
std::string error_text(int code);

/// Sends libav's log to ours (level debug, label "ffmpeg"). Idempotent; every entry of this folder calls it.
void init() noexcept;

}  // namespace castile::ffmpeg
