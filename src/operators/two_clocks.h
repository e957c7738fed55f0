#pragma once
// The two ends of a buffer between clocks: an output that fills it, in the clock of what it reads, and a source that reads it.

#include <memory>
#include <mutex>
#include <string>

#include "source/output.h"

namespace castile::operators {

/// The end that fills: send() puts the frame into what both share.
class BufferConsumer : public Output {
public:
    BufferConsumer(const std::string& name, SourcePtr input, Options options) : Output(name + ".consumer", std::move(input), std::move(options)) {}
};

/// The end that is read. It owns the other one, which its clock keeps alive until then.
template <class Base>
class BufferProducer : public Base {
public:
    using Base::Base;
    ~BufferProducer() override {
        if (consumer_) consumer_->clock()->detach(*consumer_);
    }
    void set_id(std::string id) override {
        Base::set_id(std::move(id));
        if (consumer_) consumer_->set_id(this->id() + ".consumer");
    }
    bool fallible() const noexcept override { return true; }
    bool may_run_ahead() const noexcept override { return false; }   ///< it may be short of data
    void skip() noexcept override {
        if (!consumer_) return;
        std::weak_ptr<Output> consumer = consumer_;
        consumer_->clock()->run_between_ticks([consumer] {
            if (const auto c = consumer.lock()) c->skip();
        });
    }

protected:
    void keep(std::shared_ptr<Output> consumer) {
        consumer_ = std::move(consumer);
        attach_output(consumer_);
    }

private:
    std::shared_ptr<Output> consumer_;
};

}  // namespace castile::operators
