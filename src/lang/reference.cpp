// References: a cell that threads share.

#include <bit>

#include "lang/objects.h"

namespace castile::lang {

namespace {
constexpr unsigned spins = 100;   // before a thread sleeps: who holds the cell only copies a value
}

ReferenceObject::ReferenceObject(Value initial) : FunctionObject(Tag::reference) {
    write(std::bit_cast<Words>(ValueAccess::disown(std::move(initial))));
}

ReferenceObject::~ReferenceObject() { ValueAccess::adopt(std::bit_cast<ValueAccess::Bits>(read())); }

// Whoever sees a word that a writer stored sees the odd version that was there before: the loads and stores of the words
// order those of the version.
ReferenceObject::Words ReferenceObject::read() const noexcept {
    return {words_[0].load(std::memory_order_acquire), words_[1].load(std::memory_order_acquire)};
}

void ReferenceObject::write(const Words& words) const noexcept {
    words_[0].store(words[0], std::memory_order_release);
    words_[1].store(words[1], std::memory_order_release);
}

Value ReferenceObject::load() const {
    const std::uint32_t version = version_.load(std::memory_order_acquire);
    if (version % 2 == 0) {
        const auto bits = std::bit_cast<ValueAccess::Bits>(read());
        if (version_.load(std::memory_order_relaxed) == version && !bits.owns) return ValueAccess::adopt(bits);
    }
    lock();
    Value content = ValueAccess::adopt(std::bit_cast<ValueAccess::Bits>(read()));
    Value copy = content;
    ValueAccess::disown(std::move(content));
    unlock();
    return copy;
}

void ReferenceObject::store(Value v) const {
    const Words words = std::bit_cast<Words>(ValueAccess::disown(std::move(v)));
    lock();
    Value old = ValueAccess::adopt(std::bit_cast<ValueAccess::Bits>(read()));   // dies after the lock is gone
    write(words);
    unlock();
}

void ReferenceObject::lock() const noexcept {
    for (unsigned tries = 0;; ++tries) {
        std::uint32_t version = version_.load(std::memory_order_relaxed);
        if (version % 2 == 0) {
            if (version_.compare_exchange_weak(version, version + 1, std::memory_order_acq_rel)) return;
        } else if (tries > spins) {
            version_.wait(version, std::memory_order_relaxed);
        }
    }
}

void ReferenceObject::unlock() const noexcept {
    version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    version_.notify_all();
}

Value ReferenceObject::apply(std::span<const CallArgument>, Span) const { return load(); }

std::string ReferenceObject::describe() const { return "ref(" + to_string(load(), true) + ")"; }

}  // namespace castile::lang
