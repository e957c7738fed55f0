// single, request.single: one request, over and over, without a gap.

#include <limits>

#include "base/log.h"
#include "script/operator.h"
#include "sources/request_methods.h"

namespace castile {

namespace {

using script::Args;

// Static: one request for all times, its file opened anew shortly before the end. Else: a new request each time.
class SingleFeed : public RequestFeed {
public:
    SingleFeed(FeedOptions options, RequestPtr request) : RequestFeed(options), request_(std::move(request)) {}
    SingleFeed(FeedOptions options, std::function<RequestPtr()> make) : RequestFeed(options), make_(std::move(make)) {}

protected:
    RequestPtr pick() override { return request_ ? request_ : make_(); }

private:
    const RequestPtr request_;
    const std::function<RequestPtr()> make_;
};

class Single : public RequestSource {
public:
    Single(std::string name, std::shared_ptr<RequestFeed> feed, bool infallible)
        : RequestSource(std::move(name), std::move(feed)), infallible_(infallible) {}
    bool fallible() const noexcept override { return !infallible_; }

protected:
    // The next opening of the file is late, or the file is shorter than a frame: play the open one again.
    bool begin_again(Decoder& decoder) noexcept override {
        if (!infallible_) return false;
        constexpr Ticks all{std::numeric_limits<std::int64_t>::min() / 4};
        return decoder.seek(all).count < 0;
    }

private:
    const bool infallible_;
};

constexpr double lead_seconds = 5;

FeedOptions feed_options(const Args& args, std::size_t prefetch, std::size_t timeout) {
    FeedOptions options;
    options.prefetch = std::max(1, args.optional_integer(prefetch).value_or(1));
    options.timeout = args.optional_floating(timeout);
    return options;
}

SourcePtr make_static(const std::string& name, FeedOptions options, const RequestPtr& request) {
    options.prefetch = 1;
    options.lead = lead_seconds;
    if (auto resolved = request->resolve(options.timeout.value_or(default_request_timeout())); !resolved)
        throw Error("could not get a valid media file from \"" + request->initial_uri() + "\": " + resolved.error().message);
    auto feed = std::make_shared<SingleFeed>(options, request);
    feed->add(request);
    return std::make_shared<Single>(name, std::move(feed), true);
}

SourcePtr make_changing(const std::string& name, FeedOptions options, std::function<RequestPtr()> make) {
    return std::make_shared<Single>(name, std::make_shared<SingleFeed>(options, std::move(make)), false);
}

void warn_fallible(const std::string& name, const std::string& uri) {
    Logger(name).severe("\"{}\" is not a file that is always there: the source may fail.", uri);
}

SourcePtr build_single(Args& args) {
    enum : unsigned { prefetch, timeout, fallible, cue_in, cue_out, uri };
    RequestOptions request{.persistent = !args.boolean(fallible), .cue_in_metadata = args.optional_string(cue_in),
                           .cue_out_metadata = args.optional_string(cue_out)};
    const std::string text = args.string(uri);
    const FeedOptions options = feed_options(args, prefetch, timeout);
    if (!args.boolean(fallible) && is_static_uri(text)) return make_static("single", options, Request::create(text, request));
    if (!args.boolean(fallible)) warn_fallible("single", text);
    request.persistent = false;
    return make_changing("single", options, [text, request] { return Request::create(text, request); });
}

SourcePtr build_request_single(Args& args) {
    enum : unsigned { prefetch, timeout, fallible, request };
    const FeedOptions options = feed_options(args, prefetch, timeout);
    const lang::Value value = args.value(request);
    const bool constant = value.kind() != lang::Value::Kind::function;
    const bool may_fail = args.is_null(fallible) ? !constant : args.boolean(fallible);
    if (!constant) {
        if (!may_fail) args.invalid(request, "a source that never fails cannot change its request.");
        return make_changing("single", options, [value] { return script::request_from_value(value.call()); });
    }
    const RequestPtr only = script::request_from_value(value);
    if (!may_fail && is_static_uri(only->initial_uri())) return make_static("single", options, only);
    if (!may_fail) warn_fallible("single", only->initial_uri());
    return make_changing("single", options, [only] { return only; });
}

const script::RegisterOperator single{{
    .name = "single",
    .category = script::Category::input,
    .doc = "Loop on a URI. Never fails when that is a file, or something that can be fetched once for all.",
    .params = {
        {"prefetch", "int?", "null", "How many requests to prepare ahead when the URI must be resolved each time."},
        {"timeout", "float?", "null", "Seconds that resolving may take; `settings.request.timeout` when `null`."},
        {"fallible", "bool", "false", "Resolve the URI each time; the source may then fail."},
        {"cue_in_metadata", "string?", "\"liq_cue_in\"", "Metadata with the start, in seconds; `null` for none."},
        {"cue_out_metadata", "string?", "\"liq_cue_out\"", "Metadata with the end, in seconds; `null` for none."},
        {"", "string", nullptr, "Where the file is."},
    },
    .result = "source('a)",
    .build = build_single,
}};

const script::RegisterOperator request_single{{
    .name = "request.single",
    .category = script::Category::input,
    .doc = "Loop on a request. Never fails when it is a file, or something that can be fetched once for all.",
    .params = {
        {"prefetch", "int?", "null", "How many requests to prepare ahead when the request changes."},
        {"timeout", "float?", "null", "Seconds that resolving may take; `settings.request.timeout` when `null`."},
        {"fallible", "bool?", "null", "May the source fail? By default when the request is a function."},
        {"", "{request}", nullptr, "The request."},
    },
    .result = "source('a)",
    .build = build_request_single,
}};

}  // namespace

}  // namespace castile
