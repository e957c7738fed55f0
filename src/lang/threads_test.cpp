// Closures of one script run by many threads, which share references and lists. Meant for the thread sanitizer too.

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "lang/builtin.h"
#include "lang/engine.h"

namespace castile::lang {
namespace {

constexpr int thread_count = 32;
constexpr int rounds = 300;

const RegisterBuiltin add{Builtin{
    .name = "threads.add", .category = "Test", .doc = "", .params = {{"", "int", nullptr, ""}, {"", "int", nullptr, ""}}, .result = "int",
    .call = [](const BuiltinArgs& a) { return Value::integer(a[0].as_int() + a[1].as_int()); },
}};
const RegisterBuiltin is_empty{Builtin{
    .name = "threads.is_empty", .category = "Test", .doc = "", .params = {{"", "['a]", nullptr, ""}}, .result = "bool",
    .call = [](const BuiltinArgs& a) { return Value::boolean(a[0].elements().empty()); },
}};
const RegisterBuiltin reference{Builtin{
    .name = "threads.ref", .category = "Test", .doc = "", .params = {{"", "'a", nullptr, ""}}, .result = "(() -> 'a).{set : ('a) -> unit}",
    .call = [](const BuiltinArgs& a) { return Value::reference(a[0]); },
}};
const RegisterBuiltin broken{Builtin{
    .name = "threads.fail", .category = "Test", .doc = "", .params = {}, .result = "'a",
    .call = [](const BuiltinArgs&) -> Value { throw RuntimeError("broken", "It broke."); },
}};

class Threads : public testing::Test {
protected:
    Threads() : engine_(options()) {}
    static Engine::Options options() {
        Engine::Options o;
        o.standard_library = false;
        return o;
    }
    Value run(const char* script) {
        std::vector<Diagnostic> warnings;
        return engine_.run_script("<threads>", script, warnings);
    }
    /// Every thread calls `f` many times with its number.
    static void everywhere(const std::function<void(int)>& f) {
        std::atomic<int> waiting = thread_count;
        std::vector<std::thread> threads;
        for (int t = 0; t < thread_count; ++t)
            threads.emplace_back([&, t] {
                --waiting;
                while (waiting > 0) std::this_thread::yield();
                for (int i = 0; i < rounds; ++i) f(t);
            });
        for (std::thread& t : threads) t.join();
    }

    Engine engine_;
};

TEST_F(Threads, ReadOneListAndCallOneFunction) {
    Value f = run(R"(
        numbers = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
        def rec sum(total, l) =
          if threads.is_empty(l) then total else
            let [first, ...rest] = l
            sum(threads.add(total, first), rest)
          end
        end
        fun (k) -> threads.add(k, sum(0, numbers))
    )");
    everywhere([&](int t) { EXPECT_EQ(f.call({Value::integer(t)}).as_int(), 55 + t); });
}

TEST_F(Threads, PutElementsBeforeOneList) {
    Value f = run(R"(
        def rec grow(l, i, k) =
          if threads.is_empty(i) then l else
            let [_, ...rest] = i
            grow([k, ...l], rest, k)
          end
        end
        shared = grow([0], [1, 2, 3], 0)
        fun (k) -> grow(shared, [1, 2, 3, 4, 5, 6], k)
    )");
    everywhere([&](int t) {
        Value list = f.call({Value::integer(t)});
        std::span<const Value> elements = list.elements();
        ASSERT_EQ(elements.size(), 10u);
        for (int i = 0; i < 6; ++i) EXPECT_EQ(elements[i].as_int(), t);
        for (int i = 6; i < 10; ++i) EXPECT_EQ(elements[i].as_int(), 0);
    });
}

TEST_F(Threads, ReadAndWriteOneReference) {
    // All values ever stored are lists of two equal elements, or numbers.
    Value f = run(R"(
        lists = threads.ref([0, 0])
        number = threads.ref(0)
        def exchange(k) =
          lists.set([k, k])
          number.set(k)
          (lists(), number())
        end
        exchange
    )");
    everywhere([&](int t) {
        Value both = f.call({Value::integer(t)});
        std::span<const Value> list = both.elements()[0].elements();
        ASSERT_EQ(list.size(), 2u);
        EXPECT_EQ(list[0].as_int(), list[1].as_int());
        EXPECT_LT(both.elements()[1].as_int(), thread_count);
    });
}

TEST_F(Threads, MakeClosuresAndRecords) {
    Value f = run(R"(
        def counter(start) =
          count = threads.ref(start)
          {next = fun () -> begin count.set(threads.add(count(), 1)) count() end}
        end
        fun (k) -> begin
          c = counter(k)
          ignored = c.next()
          (ignored, c.next())
        end
    )");
    everywhere([&](int t) {
        Value both = f.call({Value::integer(t)});
        EXPECT_EQ(both.elements()[0].as_int(), t + 1);
        EXPECT_EQ(both.elements()[1].as_int(), t + 2);
    });
}

TEST_F(Threads, CatchTheirOwnErrors) {
    Value f = run("fun (k) -> try threads.fail() catch e do k end");
    everywhere([&](int t) { EXPECT_EQ(f.call({Value::integer(t)}).as_int(), t); });
}

}  // namespace
}  // namespace castile::lang
