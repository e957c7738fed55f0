#include "script/callback_list.h"

namespace castile::script {

lang::Value watch_method(std::function<void(const Callback&)> add, std::string what) {
    return lang::Value::function([add = std::move(add), what](std::span<const lang::CallArgument> arguments) {
        static const Name label("synchronous");
        lang::Value function;
        bool synchronous = false;
        for (const auto& argument : arguments) {
            if (argument.label == label) synchronous = argument.value.as_bool();
            else function = argument.value;
        }
        const Callback callback(function, synchronous, what);
        add(callback);
        return lang::Value::unit().with_method("release", lang::Value::function([callback](std::span<const lang::CallArgument>) {
            callback.release();
            return lang::Value::unit();
        }));
    }, what);
}

lang::Value watch_method(std::shared_ptr<CallbackList> list, std::string what) {
    return watch_method([list = std::move(list)](const Callback& callback) { list->add(callback); }, std::move(what));
}

}  // namespace castile::script
