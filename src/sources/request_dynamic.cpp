// request.dynamic: requests made by a script function, when the source needs them.

#include "script/operator.h"
#include "script/source_methods.h"
#include "sources/request_methods.h"

namespace castile {

namespace {

using script::Args;
using lang::Value;

// Asked on the blocking pool, one call at a time.
class DynamicFeed : public RequestFeed {
public:
    DynamicFeed(FeedOptions options, script::Getter<bool> available, script::Getter<double> delay, std::function<std::vector<RequestPtr>()> make)
        : RequestFeed(options), available_(std::move(available)), delay_(std::move(delay)), make_(std::move(make)) {}

protected:
    RequestPtr pick() override {
        if (made_.empty()) {
            if (!available_.get()) return nullptr;
            for (RequestPtr& request : make_()) made_.push_back(std::move(request));
        }
        if (made_.empty()) return nullptr;
        RequestPtr next = std::move(made_.front());
        made_.pop_front();
        return next;
    }

    std::optional<Duration> retry_delay() override {
        return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::max(0.02, delay_.get())));
    }
    Duration delay_after(int) override { return *retry_delay(); }

private:
    const script::Getter<bool> available_;
    const script::Getter<double> delay_;
    const std::function<std::vector<RequestPtr>()> make_;
    std::deque<RequestPtr> made_;   // the rest of a list
};

enum : unsigned { available, prefetch, retry_delay, synchronous, timeout, native, function };

std::vector<lang::BuiltinParam> params(const char* function_type) {
    return {
        {"available", "{bool}", "true", "Are there requests to be had? When false, the source ends with what plays."},
        {"prefetch", "int?", "null", "How many requests to prepare ahead; `settings.request.prefetch` when `null`."},
        {"retry_delay", "{float}", "0.1", "Seconds before the function is asked again, after it gave nothing or its request failed."},
        {"synchronous", "bool", "false", "Kept for older scripts: requests are always prepared ahead."},
        {"timeout", "float?", "null", "Seconds that resolving may take; `settings.request.timeout` when `null`."},
        {"native", "bool", "false", "Kept for older scripts: has no effect."},
        {"", function_type, nullptr, "Gives what to play next."},
    };
}

SourcePtr build(Args& args, std::function<std::vector<RequestPtr>()> make) {
    FeedOptions options;
    options.prefetch = std::max(1, args.optional_integer(prefetch).value_or(default_request_prefetch()));
    options.timeout = args.optional_floating(timeout);
    auto feed = std::make_shared<DynamicFeed>(options, args.getter<bool>(available, true), args.getter<double>(retry_delay, 0.1), std::move(make));
    auto source = std::make_shared<RequestSource>("request.dynamic", std::move(feed));
    script::add_request_command(source, "flush_and_skip", "flush_and_skip", "Drop what is prepared and end what plays.", [](RequestSource& s, const std::string&) {
        s.feed().drop_all();
        script::order(s.shared_from_this(), [](Source& source) { source.skip(); });
        return std::string("Done.");
    });
    return source;
}

const script::RegisterOperator request_dynamic{{
    .name = "request.dynamic",
    .category = script::Category::input,
    .doc = "Play requests that a function makes one by one.",
    .params = params("() -> request?"),
    .result = "source('a)",
    .build = [](Args& args) -> SourcePtr {
        return build(args, [f = args.value(function)]() -> std::vector<RequestPtr> {
            const Value request = f.call();
            if (request.is_null()) return {};
            return {script::request_from_value(request)};
        });
    },
    .methods = script::request_methods(),
}};

const script::RegisterOperator request_dynamic_list{{
    .name = "request.dynamic.list",
    .category = script::Category::input,
    .doc = "Play requests that a function makes, some at a time.",
    .params = params("() -> [request]"),
    .result = "source('a)",
    .build = [](Args& args) -> SourcePtr {
        return build(args, [f = args.value(function)] { return script::requests_from_value(f.call()); });
    },
    .methods = script::request_methods(),
}};

}  // namespace

}  // namespace castile
