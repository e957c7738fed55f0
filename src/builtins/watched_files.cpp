// Files watched for changes.

#include <fstream>
#include <mutex>
#include <sstream>

#include "builtins/define.h"
#include "builtins/lifecycle.h"
#include "request/watch.h"
#include "sched/scheduler.h"

namespace castile::builtins {

namespace {

/// Watches live until `unwatch` or the end of the program.
Value watch(const BuiltinArgs& a) {
    struct Watch {
        std::mutex handle_mutex;
        std::shared_ptr<void> handle;
    };
    auto watch = std::make_shared<Watch>();
    Value f = a[1];
    watch->handle = watch_path(a[0].as_string(), [f] { scheduler().blocking([f] { run_task(f); }); });
    if (!watch->handle) raise("file", "Cannot watch " + a[0].as_string() + ".");
    static std::mutex all_mutex;
    static auto* all = new std::vector<std::shared_ptr<Watch>>;
    {
        std::lock_guard lock(all_mutex);
        std::erase_if(*all, [](const auto& w) { return !w->handle; });
        all->push_back(watch);
    }
    return Value::record({{"unwatch", native([watch](std::span<const CallArgument>) {
        std::lock_guard lock(watch->handle_mutex);
        watch->handle.reset();
        return Value();
    })}});
}

std::string contents(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) raise("file", "Cannot read " + path + ".");
    std::ostringstream out;
    out << in.rdbuf();
    return std::move(out).str();
}

/// A getter of a file's contents, read again when it changes.
Value file_getter(const BuiltinArgs& a) {
    struct Cached {
        std::mutex text_mutex;
        std::string text;
        std::shared_ptr<void> handle;
    };
    auto cached = std::make_shared<Cached>();
    std::string path = a[0].as_string();
    cached->text = contents(path);
    std::weak_ptr<Cached> weak = cached;
    cached->handle = watch_path(path, [weak, path] {
        auto cached = weak.lock();
        if (!cached) return;
        try {
            std::string now = contents(path);
            std::lock_guard lock(cached->text_mutex);
            cached->text = std::move(now);
        } catch (const RuntimeError&) {
            // Gone for a moment while it is replaced: the old text stands.
        }
    });
    return native([cached](std::span<const CallArgument>) {
        std::lock_guard lock(cached->text_mutex);
        return text(cached->text);
    });
}

const Definitions definitions("File", {
    {"file.watch", "Call a function when a file or folder changes.", {pos("string"), pos("() -> unit")}, "unit", watch, {{"unwatch", "() -> unit", "Stop watching."}}},
    {"file.getter", "A getter of the contents of a file, read again when it changes.", {pos("string")}, "() -> string", file_getter},
    {"file.getter.float", "A getter of the number in a file, read again when it changes.", {opt("default", "float", "0.", "Value when it holds no number."), pos("string")}, "{float}",
     [](const BuiltinArgs& a) {
        Value only_path[] = {a[1]};
        Value get = file_getter(BuiltinArgs(only_path, a.call_site()));
        return native([get, otherwise = a[0]](std::span<const CallArgument>) {
            std::istringstream in(get.call().as_string());
            double d = 0;
            return in >> d ? number(d) : otherwise;
        }); }},
});

}  // namespace

}  // namespace castile::builtins
