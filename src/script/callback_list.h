#pragma once
// The watchers of an event that an object has beside those of every source: on_connect, on_error ...

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "script/callback.h"

namespace castile::script {

class CallbackList {
public:
    void add(Callback callback) {
        std::lock_guard lock(callbacks_mutex_);
        callbacks_.push_back(std::move(callback));
    }
    /// Any thread; calls run as Callback says.
    void operator()(const std::vector<lang::CallArgument>& arguments = {}) const {
        std::vector<Callback> copy;
        {
            std::lock_guard lock(callbacks_mutex_);
            copy = callbacks_;
        }
        for (const auto& callback : copy) callback(arguments);
    }

private:
    mutable std::mutex callbacks_mutex_;
    std::vector<Callback> callbacks_;
};

/// The script's method `(?synchronous : bool, f) -> {release : () -> unit}` that hands f to `add`.
lang::Value watch_method(std::function<void(const Callback&)> add, std::string what);
/// The same, adding to `list`.
lang::Value watch_method(std::shared_ptr<CallbackList> list, std::string what);

}  // namespace castile::script
