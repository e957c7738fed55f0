#pragma once
// Arena: AST, terms and types of one program live and die together.

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace castile::lang {

/// Owns nodes of any type; addresses are stable; destroyed as a whole. One thread.
class Arena {
public:
    Arena() = default;
    Arena(Arena&& other) noexcept { *this = std::move(other); }
    Arena& operator=(Arena&& other) noexcept {
        blocks_.swap(other.blocks_);
        owned_.swap(other.owned_);
        std::swap(free_, other.free_);
        std::swap(left_, other.left_);
        return *this;
    }
    ~Arena() {
        for (auto it = owned_.rbegin(); it != owned_.rend(); ++it) it->destroy(it->node);
    }

    template <class T, class... A> T* make(A&&... args) {
        T* node = ::new (allocate(sizeof(T), alignof(T))) T{std::forward<A>(args)...};
        if constexpr (!std::is_trivially_destructible_v<T>) owned_.push_back({node, [](void* n) { static_cast<T*>(n)->~T(); }});
        return node;
    }

private:
    static constexpr std::size_t block_bytes = 16384;

    void* allocate(std::size_t size, std::size_t alignment) {
        void* place = free_;
        if (place == nullptr || std::align(alignment, size, place, left_) == nullptr) {
            const std::size_t bytes = size + alignment > block_bytes ? size + alignment : block_bytes;
            blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
            place = blocks_.back().get();
            left_ = bytes;
            std::align(alignment, size, place, left_);
        }
        free_ = static_cast<std::byte*>(place) + size;
        left_ -= size;
        return place;
    }

    struct Owned {
        void* node;
        void (*destroy)(void*);
    };
    std::vector<std::unique_ptr<std::byte[]>> blocks_;
    std::vector<Owned> owned_;
    std::byte* free_ = nullptr;
    std::size_t left_ = 0;
};

}  // namespace castile::lang
