// request.queue: plays what is pushed, first in, first out. request.once: one request, once.

#include <algorithm>
#include <charconv>

#include "script/operator.h"
#include "script/source_methods.h"
#include "sources/request_methods.h"

namespace castile {

namespace {

using script::Args;
using lang::Value;

// Requests are resolved in the order of the pushes, one after the other: a slow one delays the next, never overtakes.
class QueueFeed : public RequestFeed {
public:
    explicit QueueFeed(FeedOptions options) : RequestFeed(options) {}

    void push(RequestPtr request) {
        {
            std::lock_guard lock(pending_mutex_);
            pending_.push_back(std::move(request));
        }
        wake();
    }

    /// Prepared, being resolved, waiting: in the order in which they play.
    std::vector<RequestPtr> all() const {
        std::vector<RequestPtr> requests = prepared();
        if (RequestPtr now = resolving()) requests.push_back(std::move(now));
        std::lock_guard lock(pending_mutex_);
        requests.insert(requests.end(), pending_.begin(), pending_.end());
        return requests;
    }

    bool remove(int id) {
        RequestPtr removed;
        {
            std::lock_guard lock(pending_mutex_);
            const auto found = std::ranges::find_if(pending_, [id](const RequestPtr& r) { return r->id() == id; });
            if (found != pending_.end()) {
                removed = *found;
                pending_.erase(found);
            }
        }
        if (!removed) return drop(id);
        removed->destroy();
        return true;
    }

    void replace(std::vector<RequestPtr> requests) {
        std::deque<RequestPtr> old;
        {
            std::lock_guard lock(pending_mutex_);
            old.swap(pending_);
            pending_.assign(requests.begin(), requests.end());
        }
        drop_all();
        // One that is in both queues goes on living.
        for (const RequestPtr& request : old)
            if (std::ranges::find(requests, request) == requests.end()) request->destroy();
        wake();
    }

protected:
    RequestPtr pick() override {
        std::lock_guard lock(pending_mutex_);
        if (pending_.empty()) return nullptr;
        RequestPtr next = std::move(pending_.front());
        pending_.pop_front();
        return next;
    }

private:
    mutable std::mutex pending_mutex_;   // guards pending_
    std::deque<RequestPtr> pending_;
};

QueueFeed& queue_of(RequestSource& source) { return static_cast<QueueFeed&>(source.feed()); }
std::shared_ptr<QueueFeed> queue_of(const SourcePtr& source) {
    return std::static_pointer_cast<QueueFeed>(script::as_request_source(source)->shared_feed());
}

std::shared_ptr<QueueFeed> make_queue(int prefetch, std::optional<double> timeout, const std::vector<RequestPtr>& initial) {
    FeedOptions options;
    options.prefetch = std::max(1, prefetch);
    options.timeout = timeout;
    options.retry_delay.reset();   // a push wakes it
    auto feed = std::make_shared<QueueFeed>(options);
    for (const RequestPtr& request : initial) feed->push(request);
    return feed;
}

void add_commands(const SourcePtr& source) {
    using script::add_request_command;
    add_request_command(source, "push", "push <uri>", "Put a request at the end of the queue.",
                        [](RequestSource& s, const std::string& uri) {
                            const RequestPtr request = Request::create(uri);
                            queue_of(s).push(request);
                            return std::to_string(request->id());
                        });
    add_request_command(source, "queue", "queue", "Identifiers of the requests in the queue.",
                        [](RequestSource& s, const std::string&) {
                            std::string ids;
                            for (const RequestPtr& request : queue_of(s).all()) ids += (ids.empty() ? "" : " ") + std::to_string(request->id());
                            return ids;
                        });
    add_request_command(source, "skip", "skip", "End what plays.", [](RequestSource& s, const std::string&) {
        script::order(s.shared_from_this(), [](Source& source) { source.skip(); });
        return std::string("Done.");
    });
    add_request_command(source, "flush_and_skip", "flush_and_skip", "Empty the queue and end what plays.",
                        [](RequestSource& s, const std::string&) {
                            queue_of(s).replace({});
                            script::order(s.shared_from_this(), [](Source& source) { source.skip(); });
                            return std::string("Done.");
                        });
    add_request_command(source, "remove", "remove <rid>", "Take a request out of the queue.",
                        [](RequestSource& s, const std::string& argument) {
                            int id = -1;
                            std::from_chars(argument.data(), argument.data() + argument.size(), id);
                            return std::string(queue_of(s).remove(id) ? "Done." : "No such request in the queue.");
                        });
}

std::vector<script::OperatorMethod> queue_methods() {
    using script::method_function;
    std::vector<script::OperatorMethod> methods = script::request_methods();
    std::erase_if(methods, [](const script::OperatorMethod& m) { return m.name == "queue" || m.name == "set_queue" || m.name == "add"; });
    methods.insert(methods.end(), {
        {"add", "(request) -> bool", "The same as `push`.",
         [](const SourcePtr& source) {
             return method_function([queue = queue_of(source)](const Value& request) {
                 queue->push(script::request_from_value(request));
                 return Value::boolean(true);
             });
         }},
        {"push", "((request) -> unit).{uri : (string) -> unit}", "Put a request, or with `push.uri` a URI, at the end of the queue.",
         [](const SourcePtr& source) {
             return method_function([queue = queue_of(source)](const Value& request) {
                        queue->push(script::request_from_value(request));
                        return Value::unit();
                    })
                 .with_method("uri", method_function([queue = queue_of(source)](const Value& uri) {
                                  queue->push(Request::create(uri.as_string()));
                                  return Value::unit();
                              }));
         }},
        {"queue", "() -> [request]", "The requests to come, in order.",
         [](const SourcePtr& source) {
             return method_function([queue = queue_of(source)] { return script::request_list(queue->all()); });
         }},
        {"set_queue", "([request]) -> unit", "Replace the queue.",
         [](const SourcePtr& source) {
             return method_function([queue = queue_of(source)](const Value& requests) {
                 queue->replace(script::requests_from_value(requests));
                 return Value::unit();
             });
         }},
        {"length", "() -> int", "How many requests are to come.",
         [](const SourcePtr& source) {
             return method_function([queue = queue_of(source)] { return Value::integer(static_cast<std::int64_t>(queue->all().size())); });
         }},
        {"remove", "(request) -> unit", "Take a request out of the queue.",
         [](const SourcePtr& source) {
             return method_function([queue = queue_of(source)](const Value& request) {
                 queue->remove(script::request_from_value(request)->id());
                 return Value::unit();
             });
         }},
        {"remove_request_id", "(int) -> unit", "Take a request out of the queue by its identifier.",
         [](const SourcePtr& source) {
             return method_function([queue = queue_of(source)](const Value& id) {
                 queue->remove(static_cast<int>(id.as_int()));
                 return Value::unit();
             });
         }},
        {"flush_and_skip", "() -> unit", "Empty the queue and end what plays.",
         [](const SourcePtr& source) {
             return method_function([weak = std::weak_ptr(source)] {
                 if (const SourcePtr s = weak.lock()) {
                     queue_of(s)->replace({});
                     script::order(s, [](Source& source) { source.skip(); });
                 }
                 return Value::unit();
             });
         }},
    });
    return methods;
}

const script::RegisterOperator request_queue{{
    .name = "request.queue",
    .category = script::Category::track,
    .doc = "Play the requests that are pushed, in the order of the pushes.",
    .params = {
        {"interactive", "bool", "true", "Give it commands on the server?"},
        {"prefetch", "int?", "null", "How many requests to prepare ahead; `settings.request.prefetch` when `null`."},
        {"native", "bool", "false", "Kept for older scripts: has no effect."},
        {"queue", "[request]", "[]", "What is in the queue at first."},
        {"timeout", "float?", "null", "Seconds that resolving may take; `settings.request.timeout` when `null`."},
    },
    .result = "source('a)",
    .build = [](Args& args) -> SourcePtr {
        enum : unsigned { interactive, prefetch, native, queue, timeout };
        auto feed = make_queue(args.optional_integer(prefetch).value_or(default_request_prefetch()), args.optional_floating(timeout),
                               script::requests_from_value(args.value(queue)));
        auto source = std::make_shared<RequestSource>("request.queue", std::move(feed));
        if (args.boolean(interactive)) add_commands(source);
        return source;
    },
    .methods = queue_methods(),
}};

// The request of a request.once is the only one that was ever in its queue.
class Once : public RequestSource {
public:
    Once(std::shared_ptr<QueueFeed> feed, RequestPtr request)
        : RequestSource("request.once", std::move(feed)), request_(std::move(request)) {}
    const RequestPtr& request() const noexcept { return request_; }

private:
    const RequestPtr request_;
};

const script::RegisterOperator request_once{{
    .name = "request.once",
    .category = script::Category::input,
    .doc = "Play a request once, then nothing.",
    .params = {
        {"timeout", "float?", "null", "Seconds that resolving may take; `settings.request.timeout` when `null`."},
        {"", "request", nullptr, "The request."},
    },
    .result = "source('a)",
    .build = [](Args& args) -> SourcePtr {
        enum : unsigned { timeout, request };
        const RequestPtr only = script::request_from_value(args.value(request));
        return std::make_shared<Once>(make_queue(1, args.optional_floating(timeout), {only}), only);
    },
    .methods = {
        {"request", "request", "The request.",
         [](const SourcePtr& source) { return script::to_value(std::static_pointer_cast<Once>(source)->request()); }},
        {"resolve", "() -> bool", "Resolve the request now, so that it can play at once. Blocking.",
         [](const SourcePtr& source) {
             return script::method_function([request = std::static_pointer_cast<Once>(source)->request()] {
                 return Value::boolean(request->resolve(default_request_timeout()).has_value());
             });
         }},
    },
}};

}  // namespace

}  // namespace castile
