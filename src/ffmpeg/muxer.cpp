#include "ffmpeg/muxer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "ffmpeg/compat.h"

extern "C" {
#include <libavutil/mem.h>
}

namespace castile::ffmpeg {
namespace {

constexpr int buffer_bytes = 4096;

int append(void* opaque, WriteBuffer* data, int size) {
    auto& out = *static_cast<std::vector<std::uint8_t>*>(opaque);
    try {
        out.insert(out.end(), data, data + size);
    } catch (...) {
        return AVERROR(ENOMEM);
    }
    return size;
}

bool given(const OptionList& options, std::string_view name) {
    return std::ranges::any_of(options, [&](const auto& option) { return option.first == name; });
}

/// What an endless stream wants of each container.
OptionList defaults(const std::string& id, ContainerTraits::Kind kind, bool segmented) {
    using Kind = ContainerTraits::Kind;
    if (id == "mp3") return {{"write_xing", "0"}, {"id3v2_version", "0"}};
    // Pages and clusters of a quarter of a second: what a listener waits for.
    if (id == "ogg" || id == "oga" || id == "opus") return {{"page_duration", "250000"}};
    if (id == "webm" || id == "matroska") return {{"live", "1"}, {"cluster_time_limit", "250"}};
    // A PES packet may gather 0.1 s of small frames (max_delay / 2). Segments begin with tables anyway.
    if (kind == Kind::mpegts) return {{"max_delay", "200000"}, {"pat_period", segmented ? "5" : "0.5"}, {"sdt_period", segmented ? "60" : "2"}};
    if (kind == Kind::fmp4) {
        if (segmented) return {{"movflags", "+frag_custom+empty_moov+default_base_moof+frag_discont+skip_trailer"}, {"use_editlist", "0"}};
        return {{"movflags", "+empty_moov+default_base_moof+skip_trailer"}, {"frag_duration", "500000"}, {"use_editlist", "0"}};
    }
    return {};
}

}  // namespace

void Muxer::FreeOutput::operator()(AVFormatContext* context) const noexcept {
    if (context->pb) {
        av_freep(&context->pb->buffer);
        avio_context_free(&context->pb);
    }
    avformat_free_context(context);
}

void Muxer::check(int code, const char* what) const {
    if (code < 0) throw Error(fmt::format("Format \"{}\" cannot {}: {}.", container_, what, error_text(code)));
}

Muxer::Muxer(const MuxerSpec& spec, const std::vector<std::shared_ptr<const PacketStream>>& streams, std::vector<std::uint8_t>& out)
    : container_(spec.container), traits_(container_traits(spec.container)), out_(out), scratch_(make_packet()), streams_(streams) {
    init();
    const AVOutputFormat* format = av_guess_format(spec.container.c_str(), nullptr, nullptr);
    if (!format || format->flags & AVFMT_NOFILE) throw Error(fmt::format("Unknown format: \"{}\" (see ffmpeg -muxers).", spec.container));
    AVFormatContext* context = nullptr;
    check(avformat_alloc_output_context2(&context, format, nullptr, nullptr), "be opened");
    context_.reset(context);

    auto* buffer = static_cast<unsigned char*>(av_malloc(buffer_bytes));
    context->pb = buffer ? avio_alloc_context(buffer, buffer_bytes, 1, &out_, nullptr, append, nullptr) : nullptr;
    if (!context->pb) {
        av_free(buffer);
        throw std::bad_alloc();
    }
    context->pb->seekable = 0;
    context->flags |= AVFMT_FLAG_CUSTOM_IO;
    context->flush_packets = 0;   // drain() does it

    Dictionary tags(spec.tags);
    av_dict_copy(&context->metadata, tags.get(), 0);
    for (const auto& stream : streams_) {
        if (stream->parameters->codec_type == AVMEDIA_TYPE_AUDIO && avformat_query_codec(format, stream->parameters->codec_id, FF_COMPLIANCE_EXPERIMENTAL) == 0)
            throw Error(fmt::format("Format \"{}\" cannot hold codec \"{}\".", spec.container, avcodec_get_name(stream->parameters->codec_id)));
        AVStream* added = avformat_new_stream(context, nullptr);
        if (!added || avcodec_parameters_copy(added->codecpar, stream->parameters.get()) < 0) throw std::bad_alloc();
        added->codecpar->codec_tag = 0;
        added->time_base = {stream->time_base_num, stream->time_base_den};
    }

    using Kind = ContainerTraits::Kind;
    leads_ = traits_.kind == Kind::mpegts || traits_.kind == Kind::fmp4;
    Dictionary options(spec.options);
    for (auto& [name, value] : defaults(format->name, traits_.kind, spec.segmented)) {
        if (!given(spec.options, name))
            options.set(name.c_str(), value);
        else if (name == "movflags")   // theirs and ours
            options.set("movflags", value + "+" + std::ranges::find(spec.options, name, &OptionList::value_type::first)->second);
    }
    check(avformat_write_header(context, options.out()), "be written");
    for (const auto& [name, value] : spec.options)
        if (options.has(name)) unknown_.push_back(name);
    drain();
}

Muxer::~Muxer() {
    if (finished_ || !context_) return;
    // The trailer frees what the header made; its bytes are nobody's any more.
    std::vector<std::uint8_t> nowhere;
    context_->pb->opaque = &nowhere;
    av_write_trailer(context_.get());
}

void Muxer::write(std::size_t index, const AVPacket& packet, std::int64_t shift) {
    const PacketStream& stream = *streams_[index];
    const AVRational from{stream.time_base_num, stream.time_base_den};
    const AVRational to = context_->streams[index]->time_base;
    AVPacket* p = scratch_.get();
    const bool several = streams_.size() > 1;   // then libav may keep packets until their turn, and needs a reference
    if (several || packet.side_data_elems > 0) {
        check(av_packet_ref(p, &packet), "take a packet");
    } else {
        p->data = packet.data;
        p->size = packet.size;
        p->flags = packet.flags;
    }
    p->stream_index = static_cast<int>(index);
    if (leads_) shift += av_rescale_q(lead, {1, 1}, from);
    p->pts = packet.pts == AV_NOPTS_VALUE ? packet.pts : av_rescale_q(packet.pts + shift, from, to);
    p->dts = packet.dts == AV_NOPTS_VALUE ? p->pts : av_rescale_q(packet.dts + shift, from, to);
    p->duration = av_rescale_q(packet.duration, from, to);
    p->time_base = to;
    const int code = several ? av_interleaved_write_frame(context_.get(), p) : av_write_frame(context_.get(), p);
    av_packet_unref(p);
    check(code, "be written");
}

void Muxer::cut() {
    if (streams_.size() > 1) check(av_interleaved_write_frame(context_.get(), nullptr), "be written");
    check(av_write_frame(context_.get(), nullptr), "be written");
    drain();
    if (traits_.kind == ContainerTraits::Kind::mpegts) av_opt_set(context_->priv_data, "mpegts_flags", "+resend_headers", 0);
}

void Muxer::drain() noexcept { avio_flush(context_->pb); }

void Muxer::finish() {
    finished_ = true;
    check(av_write_trailer(context_.get()), "be finished");
    drain();
}

}  // namespace castile::ffmpeg
