#pragma once
// What a port serves: routes, asked by its connections.

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "net/http_server.h"

namespace castile {

struct RegisteredRoute {
    HttpRoute rule;
    HttpHandler handler;

    bool accepts_path(const std::string& path) const {
        if (rule.matches) return rule.matches(path);
        if (rule.path.ends_with('*')) return std::string_view(path).starts_with(std::string_view(rule.path).substr(0, rule.path.size() - 1));
        return path == rule.path;
    }
    bool accepts_method(const std::string& method) const {
        return rule.method.empty() || rule.method == method || (rule.method == "GET" && method == "HEAD");
    }
};
using RoutePtr = std::shared_ptr<const RegisteredRoute>;

/// Any thread.
class HttpRoutes {
public:
    void add(RoutePtr route) {
        std::lock_guard lock(mutex_);
        routes_.push_back(std::move(route));
    }
    bool remove(const RegisteredRoute* route) {  // true: that was the last
        std::lock_guard lock(mutex_);
        std::erase_if(routes_, [route](const RoutePtr& r) { return r.get() == route; });
        return routes_.empty();
    }
    void remove(const std::string& method, const std::string& path) {
        std::lock_guard lock(mutex_);
        std::erase_if(routes_, [&](const RoutePtr& r) { return r->rule.method == method && r->rule.path == path; });
    }
    /// The route for a request; when only the method is wrong, `allow` lists what the path takes.
    RoutePtr find(const std::string& method, const std::string& path, std::string& allow) {
        std::lock_guard lock(mutex_);
        for (const bool fallback : {false, true}) {
            for (auto route = routes_.rbegin(); route != routes_.rend(); ++route) {  // the newest wins
                if ((*route)->rule.fallback != fallback || !(*route)->accepts_path(path)) continue;
                if ((*route)->accepts_method(method)) return *route;
                if (allow.find((*route)->rule.method) == allow.npos) allow += (allow.empty() ? "" : ", ") + (*route)->rule.method;
            }
        }
        return nullptr;
    }

private:
    std::mutex mutex_;
    std::vector<RoutePtr> routes_;
};

}  // namespace castile
