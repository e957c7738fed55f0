#pragma once
// Arena: AST, terms and types of one program live and die together.

#include <deque>
#include <memory>
#include <utility>

namespace castile::lang {

/// Owns nodes of any type; addresses are stable; destroyed as a whole. One thread.
class Arena {
public:
    template <class T, class... A> T* make(A&&... args) {
        auto holder = std::make_unique<Holder<T>>(T{std::forward<A>(args)...});
        T* node = &holder->value;
        nodes_.push_back(std::move(holder));
        return node;
    }

private:
    struct Base { virtual ~Base() = default; };
    template <class T> struct Holder final : Base {
        explicit Holder(T v) : value(std::move(v)) {}
        T value;
    };
    std::deque<std::unique_ptr<Base>> nodes_;
};

}  // namespace castile::lang
