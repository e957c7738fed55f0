#include "sources/request_methods.h"

#include "script/commands.h"

namespace castile::script {

using lang::Value;

std::shared_ptr<RequestSource> as_request_source(const SourcePtr& source) { return std::static_pointer_cast<RequestSource>(source); }

Value request_list(const std::vector<RequestPtr>& requests) {
    std::vector<Value> values;
    for (const RequestPtr& request : requests) values.push_back(to_value(request));
    return Value::list(std::move(values));
}

std::vector<RequestPtr> requests_from_value(const Value& value) {
    std::vector<RequestPtr> requests;
    for (const Value& element : value.elements()) requests.push_back(request_from_value(element));
    return requests;
}

Value method_function(std::function<Value()> f) {
    return Value::function([f = std::move(f)](std::span<const lang::CallArgument>) { return f(); });
}

Value method_function(std::function<Value(const Value&)> f) {
    return Value::function([f = std::move(f)](std::span<const lang::CallArgument> arguments) { return f(arguments.front().value); });
}

std::vector<OperatorMethod> request_methods() {
    return {
        {"fetch", "() -> unit", "Ask for another request to be prepared, now.",
         [](const SourcePtr& source) {
             return method_function([feed = as_request_source(source)->shared_feed()] {
                 feed->wake();
                 return Value::unit();
             });
         }},
        {"queue", "() -> [request]", "The requests that are prepared, in order.",
         [](const SourcePtr& source) {
             return method_function([feed = as_request_source(source)->shared_feed()] { return request_list(feed->prepared()); });
         }},
        {"add", "(request) -> bool", "Resolve a request and put it at the end of those that are prepared. False when it cannot be resolved.",
         [](const SourcePtr& source) {
             return method_function([feed = as_request_source(source)->shared_feed()](const Value& request) {
                 return Value::boolean(feed->add(request_from_value(request)));
             });
         }},
        {"set_queue", "([request]) -> unit", "Replace the prepared requests by these, which are resolved first.",
         [](const SourcePtr& source) {
             return method_function([feed = as_request_source(source)->shared_feed()](const Value& requests) {
                 feed->drop_all();
                 for (const RequestPtr& request : requests_from_value(requests)) feed->add(request);
                 return Value::unit();
             });
         }},
        {"current", "() -> request?", "The request that plays.",
         [](const SourcePtr& source) {
             return method_function([weak = std::weak_ptr(as_request_source(source))] {
                 const auto s = weak.lock();
                 const RequestPtr current = s ? s->current() : nullptr;
                 return current ? to_value(current) : Value::null();
             });
         }},
    };
}

void add_request_command(const SourcePtr& source, const std::string& name, const std::string& usage, const std::string& description,
                         std::function<std::string(RequestSource&, const std::string&)> run) {
    add_source_command(source, name, {usage, description, [weak = std::weak_ptr(source), run = std::move(run)](const std::string& argument) {
                                          const SourcePtr s = weak.lock();
                                          return s ? run(static_cast<RequestSource&>(*s), argument) : std::string();
                                      }});
}

}  // namespace castile::script
