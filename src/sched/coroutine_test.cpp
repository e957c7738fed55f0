// The coroutine shapes that we write. GCC 12 has miscompiled others (a capturing coroutine lambda whose closure dies, a
// temporary with a destructor in the statement that awaits, references to the caller's temporaries), so rule 12 of the
// conventions allows these alone: a plain or member function, parameters by value, every such temporary named on the line before.

#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <memory>
#include <string>

namespace castile {
namespace {

using boost::asio::awaitable;

/// Counts its living copies: a frame that copies, loses or destroys an argument twice shows.
struct Counted {
    explicit Counted(int& count) : count_(&count) { ++*count_; }
    Counted(const Counted& o) : count_(o.count_) { ++*count_; }
    Counted(Counted&& o) noexcept : count_(o.count_) { ++*count_; }
    Counted& operator=(const Counted&) = delete;
    ~Counted() { --*count_; }
    int* count_;
};

awaitable<void> pause() {
    const auto executor = co_await boost::asio::this_coro::executor;
    boost::asio::steady_timer timer(executor, std::chrono::microseconds(1));
    co_await timer.async_wait(boost::asio::use_awaitable);
}

awaitable<std::string> by_value(std::string text, Counted counted, std::unique_ptr<int> owned) {
    co_await pause();
    EXPECT_EQ(*counted.count_, 1);
    co_return text + std::to_string(*owned);
}

class Session : public std::enable_shared_from_this<Session> {
public:
    explicit Session(std::string name) : name_(std::move(name)) {}

    // Holds itself: the frame owns a reference. As a parameter, since an awaitable starts later than it is made: in the body,
    // shared_from_this() would come too late for an object that nobody else holds.
    awaitable<void> run(std::shared_ptr<Session> self, int* living, std::string* result) {
        std::string text = name_ + std::string(64, '.');  // long enough not to live inside the object
        Counted counted(*living);
        std::unique_ptr<int> owned = std::make_unique<int>(7);
        // Each temporary with a destructor has a name; nothing but moves in the statement that awaits.
        auto awaiting = by_value(std::move(text), Counted(alive_inside_), std::move(owned));
        std::string answer = co_await std::move(awaiting);
        *result = std::move(answer);
        EXPECT_EQ(self.get(), this);
    }

    awaitable<int> sum(int n) {
        int total = 0;
        for (int i = 0; i < n; ++i) {
            int part = co_await one(i);
            total += part;
        }
        co_return total;
    }

    awaitable<std::string> catches() {
        std::string message = "nothing";
        std::exception_ptr failure;
        try {
            co_await fails("why");
        } catch (const std::exception& e) {  // no co_await in a handler: what is left to do waits until after it
            message = e.what();
            failure = std::current_exception();
        }
        if (failure) co_await pause();
        co_return message;
    }

    int alive_inside_ = 0;

private:
    awaitable<int> one(int i) {
        co_await pause();
        co_return i;
    }
    awaitable<void> fails(std::string why) {
        co_await pause();
        throw std::runtime_error("failed: " + why);
    }
    std::string name_;
};

template <class T>
T run(awaitable<T> work) {
    boost::asio::io_context io;
    T result{};
    std::exception_ptr error;
    boost::asio::co_spawn(io, std::move(work), [&](std::exception_ptr e, T value) {
        error = e;
        result = std::move(value);
    });
    io.run();
    if (error) std::rethrow_exception(error);
    return result;
}

TEST(Coroutine, ParametersByValueLiveInTheFrame) {
    int alive = 0;
    auto owned = std::make_unique<int>(3);
    auto work = by_value("a text that is too long for the small string", Counted(alive), std::move(owned));
    EXPECT_EQ(run(std::move(work)), "a text that is too long for the small string3");
    EXPECT_EQ(alive, 0);
}

TEST(Coroutine, MemberFunctionHoldsItsObject) {
    boost::asio::io_context io;
    int alive = 0;
    std::string result;
    std::weak_ptr<Session> watched;
    {
        auto session = std::make_shared<Session>("session");
        watched = session;
        boost::asio::co_spawn(io, session->run(session, &alive, &result), [](std::exception_ptr e) { EXPECT_FALSE(e); });
    }
    io.run();
    EXPECT_EQ(result, "session" + std::string(64, '.') + "7");
    EXPECT_EQ(alive, 0);
    EXPECT_TRUE(watched.expired());
}

TEST(Coroutine, AwaitsInALoop) {
    const auto session = std::make_shared<Session>("s");
    EXPECT_EQ(run(session->sum(100)), 4950);
}

TEST(Coroutine, ExceptionsPassAndAreHandledOutsideTheHandler) {
    const auto session = std::make_shared<Session>("s");
    EXPECT_EQ(run(session->catches()), "failed: why");
}

}  // namespace
}  // namespace castile
