// Lists and association lists.

#include <algorithm>
#include <random>

#include "builtins/define.h"
#include "lang/limits.h"

namespace castile::builtins {

namespace {

using Values = std::vector<Value>;

Values copy(const Value& list) {
    auto e = list.elements();
    return {e.begin(), e.end()};
}

Value slice(const Value& list, std::size_t from, std::size_t count) {
    auto e = list.elements();
    from = std::min(from, e.size());
    if (count >= e.size() - from) return list.without_first(from);
    e = e.subspan(from, std::min(count, e.size() - from));
    return Value::list({e.begin(), e.end()});
}

Value tail(const Value& list) { return list.without_first(1); }

Value or_default(const Value& otherwise, const char* function) {
    if (otherwise.is_null()) raise("not_found", std::string("no default value for ") + function);
    return otherwise;
}

bool equal(const Value& a, const Value& b) { return lang::compare(a, b) == 0; }
const Value& key(const Value& pair) { return pair.elements()[0]; }
const Value& content(const Value& pair) { return pair.elements()[1]; }

std::mt19937& generator() {
    thread_local std::mt19937 generator{std::random_device{}()};
    return generator;
}

const Value* find_key(const Value& wanted, const Value& list) {
    for (const Value& e : list.elements())
        if (equal(key(e), wanted)) return &content(e);
    return nullptr;
}

Value sorted(const Value& list, auto less) {
    Values values = copy(list);
    std::ranges::stable_sort(values, less);
    return Value::list(std::move(values));
}

/// A merge sort that survives any comparison function.
void merge_sort(Values& values, const Value& compare) {
    Values buffer(values.size());
    for (std::size_t width = 1; width < values.size(); width *= 2) {
        for (std::size_t low = 0; low < values.size(); low += 2 * width) {
            std::size_t middle = std::min(low + width, values.size()), high = std::min(low + 2 * width, values.size());
            std::size_t a = low, b = middle;
            for (std::size_t out = low; out < high; ++out) {
                bool first = a < middle && (b >= high || compare.call({values[a], values[b]}).as_int() <= 0);
                buffer[out] = first ? values[a++] : values[b++];
            }
        }
        values.swap(buffer);
    }
}

Value indexed_call(const Value& f, std::size_t i, const Value& v) { return f.call({integer(static_cast<std::int64_t>(i)), v}); }

const Definitions basics("List", {
    {"list.length", "Number of elements.", {pos("['a]")}, "int", [](const BuiltinArgs& a) { return integer(static_cast<std::int64_t>(a[0].elements().size())); }},
    {"list.is_empty", "Has it no element?", {pos("['a]")}, "bool", [](const BuiltinArgs& a) { return boolean(a[0].elements().empty()); }},
    {"list.hd", "First element.", {opt("default", "'a?", "null", "Value for an empty list."), pos("['a]")}, "'a", [](const BuiltinArgs& a) {
        return a[1].elements().empty() ? or_default(a[0], "list.hd") : a[1].elements().front(); }},
    {"list.last", "Last element.", {opt("default", "'a?", "null", "Value for an empty list."), pos("['a]")}, "'a", [](const BuiltinArgs& a) {
        return a[1].elements().empty() ? or_default(a[0], "list.nth") : a[1].elements().back(); }},
    {"list.tl", "All but the first element.", {pos("['a]")}, "['a]", [](const BuiltinArgs& a) { return tail(a[0]); }},
    {"list.nth", "Element at a position, from 0.", {opt("default", "'a?", "null", "Value when there is no such element."), pos("['a]"), pos("int", "Position.")}, "'a",
     [](const BuiltinArgs& a) {
        auto e = a[1].elements();
        std::int64_t i = a[2].as_int();
        return i < 0 || i >= static_cast<std::int64_t>(e.size()) ? or_default(a[0], "list.nth") : e[static_cast<std::size_t>(i)]; }},
    {"list.pick", "An element at random.", {opt("default", "'a?", "null", "Value for an empty list."), pos("['a]")}, "'a", [](const BuiltinArgs& a) {
        auto e = a[1].elements();
        if (e.empty() && a[0].is_null()) raise("not_found", "empty list in list.pick");
        if (e.empty()) return a[0];
        return e[std::uniform_int_distribution<std::size_t>(0, e.size() - 1)(generator())]; }},
    {"list.add", "Add an element in front.", {pos("'a"), pos("['a]")}, "['a]", [](const BuiltinArgs& a) { return a[1].with_first(a[0]); }},
    {"list.cons", "Add an element in front.", {pos("'a"), pos("['a]")}, "['a]", [](const BuiltinArgs& a) { return a[1].with_first(a[0]); }},
    {"list.append", "One list after another.", {pos("['a]"), pos("['a]")}, "['a]", [](const BuiltinArgs& a) {
        Values v = copy(a[0]);
        for (const Value& e : a[1].elements()) v.push_back(e);
        return Value::list(std::move(v)); }},
    {"list.insert", "Insert an element at a position, which must be in the list or at its end.", {pos("int", "Position."), pos("'a"), pos("['a]")}, "['a]", [](const BuiltinArgs& a) {
        Values v = copy(a[2]);
        std::int64_t i = a[0].as_int();
        if (i < 0) return a[2];
        if (i > static_cast<std::int64_t>(v.size())) raise("not_found", "List should have at least " + std::to_string(i) + " elemments");
        v.insert(v.begin() + i, a[1]);
        return Value::list(std::move(v)); }},
    {"list.remove", "Remove the first element equal to a value.", {pos("'a"), pos("['a]")}, "['a]", [](const BuiltinArgs& a) {
        Values v = copy(a[1]);
        auto it = std::ranges::find_if(v, [&](const Value& e) { return equal(e, a[0]); });
        if (it != v.end()) v.erase(it);
        return Value::list(std::move(v)); }},
    {"list.rev", "In reverse order.", {pos("['a]")}, "['a]", [](const BuiltinArgs& a) {
        Values v = copy(a[0]);
        std::ranges::reverse(v);
        return Value::list(std::move(v)); }},
    {"list.shuffle", "In random order.", {pos("['a]")}, "['a]", [](const BuiltinArgs& a) {
        Values v = copy(a[0]);
        std::ranges::shuffle(v, generator());
        return Value::list(std::move(v)); }},
    {"list.slice", "Part of a list.", {opt("offset", "int", "0", "First position."), opt("length", "int?", "null", "Greatest length; null: to the end."), pos("['a]")}, "['a]",
     [](const BuiltinArgs& a) {
        std::int64_t from = std::max<std::int64_t>(a[0].as_int(), 0);
        std::size_t count = a[1].is_null() ? a[2].elements().size() : static_cast<std::size_t>(std::max<std::int64_t>(a[1].as_int(), 0));
        return slice(a[2], static_cast<std::size_t>(from), count); }},
    {"list.prefix", "The first elements.", {pos("int", "How many."), pos("['a]")}, "['a]", [](const BuiltinArgs& a) {
        return slice(a[1], 0, static_cast<std::size_t>(std::max<std::int64_t>(a[0].as_int(), 0))); }},
    {"list.init", "A list made by a function of the position.", {pos("int", "Length."), pos("(int) -> 'a")}, "['a]", [](const BuiltinArgs& a) {
        Values v;
        v.reserve(lang::list_length(a[0].as_int()));
        for (std::int64_t i = 0; i < a[0].as_int(); ++i) v.push_back(a[1].call({integer(i)}));
        return Value::list(std::move(v)); }},
    {"list.make", "A list of one value repeated.", {pos("int", "Length."), pos("'a")}, "['a]", [](const BuiltinArgs& a) {
        return Value::list(Values(lang::list_length(a[0].as_int()), a[1])); }},
    {"list.mem", "Is a value in the list?", {pos("'a"), pos("['a]")}, "bool where 'a is an orderable type", [](const BuiltinArgs& a) {
        return boolean(std::ranges::any_of(a[1].elements(), [&](const Value& e) { return equal(e, a[0]); })); }},
    {"list.flatten", "One list out of a list of lists.", {pos("[['a]]")}, "['a]", [](const BuiltinArgs& a) {
        Values v;
        for (const Value& l : a[0].elements())
            for (const Value& e : l.elements()) v.push_back(e);
        return Value::list(std::move(v)); }},
    {"list.indexed", "Each element with its position.", {pos("['a]")}, "[int * 'a]", [](const BuiltinArgs& a) {
        Values v;
        for (const Value& e : a[0].elements()) v.push_back(pair(integer(static_cast<std::int64_t>(v.size())), e));
        return Value::list(std::move(v)); }},
    {"list.case", "Take a list apart: a value for the empty list, or a function of the first element and the rest.",
     {pos("['a]"), pos("'b", "Result for an empty list."), pos("('a, ['a]) -> 'b", "Function of the first element and the rest.")}, "'b",
     [](const BuiltinArgs& a) { return a[0].elements().empty() ? a[1] : a[2].call({a[0].elements().front(), tail(a[0])}); }},
    {"list.dcase", "Like `list.case`, with a function for the empty list.", {pos("['a]"), pos("() -> 'b"), pos("('a, ['a]) -> 'b")}, "'b",
     [](const BuiltinArgs& a) { return a[0].elements().empty() ? a[1].call() : a[2].call({a[0].elements().front(), tail(a[0])}); }},
    {"list.ind", "Induction: the function gets the first element, the rest, and the result for the rest.",
     {pos("['a]"), pos("'b", "Result for the empty list."), pos("('a, ['a], 'b) -> 'b")}, "'b", [](const BuiltinArgs& a) {
        Value result = a[1];
        auto e = a[0].elements();
        for (std::size_t i = e.size(); i-- > 0;) result = a[2].call({e[i], slice(a[0], i + 1, e.size()), result});
        return result; }},
    {"list.iterator", "A function that gives the elements one by one, then null.", {pos("['a?]")}, "() -> 'a?", [](const BuiltinArgs& a) {
        Value position = Value::reference(integer(0));
        return native([list = a[0], position](std::span<const CallArgument>) {
            auto i = static_cast<std::size_t>(position.call().as_int());
            if (i >= list.elements().size()) return Value::null();
            position.find_method("set")->call({integer(static_cast<std::int64_t>(i + 1))});
            return list.elements()[i];
        }); }},
});

const Definitions higher_order("List", {
    {"list.iter", "Call a function on each element.", {pos("('a) -> unit"), pos("['a]")}, "unit", [](const BuiltinArgs& a) {
        for (const Value& e : a[1].elements()) a[0].call({e});
        return Value(); }},
    {"list.iteri", "Call a function on each position and element.", {pos("(int, 'a) -> unit"), pos("['a]")}, "unit", [](const BuiltinArgs& a) {
        std::size_t i = 0;
        for (const Value& e : a[1].elements()) indexed_call(a[0], i++, e);
        return Value(); }},
    {"list.map", "The results of a function on each element.", {pos("('a) -> 'b"), pos("['a]")}, "['b]", [](const BuiltinArgs& a) {
        Values v;
        v.reserve(a[1].elements().size());
        for (const Value& e : a[1].elements()) v.push_back(a[0].call({e}));
        return Value::list(std::move(v)); }},
    {"list.map.right", "Like `list.map`, from the last element to the first.", {pos("('a) -> 'b"), pos("['a]")}, "['b]", [](const BuiltinArgs& a) {
        auto e = a[1].elements();
        Values v(e.size());
        for (std::size_t i = e.size(); i-- > 0;) v[i] = a[0].call({e[i]});
        return Value::list(std::move(v)); }},
    {"list.mapi", "The results of a function on each position and element.", {pos("(int, 'a) -> 'b"), pos("['a]")}, "['b]", [](const BuiltinArgs& a) {
        Values v;
        for (const Value& e : a[1].elements()) v.push_back(indexed_call(a[0], v.size(), e));
        return Value::list(std::move(v)); }},
    {"list.filter", "The elements for which a function is true.",
     {opt("remove", "('a) -> unit", "fun (_) -> ()", "Called on each element left out."), pos("('a) -> bool"), pos("['a]")}, "['a]", [](const BuiltinArgs& a) {
        Values v;
        for (const Value& e : a[2].elements()) {
            if (a[1].call({e}).as_bool()) v.push_back(e);
            else a[0].call({e});
        }
        return Value::list(std::move(v)); }},
    {"list.filter_map", "The results of a function that are not null.", {pos("('a) -> 'b?"), pos("['a]")}, "['b]", [](const BuiltinArgs& a) {
        Values v;
        for (const Value& e : a[1].elements())
            if (Value r = a[0].call({e}); !r.is_null()) v.push_back(std::move(r));
        return Value::list(std::move(v)); }},
    {"list.fold", "Combine the elements, from the first to the last.", {pos("('a, 'b) -> 'a"), pos("'a", "Initial value."), pos("['b]")}, "'a", [](const BuiltinArgs& a) {
        Value result = a[1];
        for (const Value& e : a[2].elements()) result = a[0].call({result, e});
        return result; }},
    {"list.fold.right", "Combine the elements, from the last to the first.", {pos("('a, 'b) -> 'b"), pos("'b", "Initial value."), pos("['a]")}, "'b", [](const BuiltinArgs& a) {
        Value result = a[1];
        auto e = a[2].elements();
        for (std::size_t i = e.size(); i-- > 0;) result = a[0].call({e[i], result});
        return result; }},
    {"list.for_all", "Is a function true of every element?", {pos("('a) -> bool"), pos("['a]")}, "bool", [](const BuiltinArgs& a) {
        return boolean(std::ranges::all_of(a[1].elements(), [&](const Value& e) { return a[0].call({e}).as_bool(); })); }},
    {"list.exists", "Is a function true of some element?", {pos("('a) -> bool"), pos("['a]")}, "bool", [](const BuiltinArgs& a) {
        return boolean(std::ranges::any_of(a[1].elements(), [&](const Value& e) { return a[0].call({e}).as_bool(); })); }},
    {"list.find", "The first element for which a function is true.", {opt("default", "'a?", "null", "Value when there is none."), pos("('a) -> bool"), pos("['a]")}, "'a",
     [](const BuiltinArgs& a) {
        for (const Value& e : a[2].elements())
            if (a[1].call({e}).as_bool()) return e;
        return or_default(a[0], "list.find"); }},
    {"list.index", "Position of the first element for which a function is true; the length when there is none.", {pos("('a) -> bool"), pos("['a]")}, "int", [](const BuiltinArgs& a) {
        std::int64_t i = 0;
        for (const Value& e : a[1].elements()) {
            if (a[0].call({e}).as_bool()) break;
            ++i;
        }
        return integer(i); }},
    {"list.sort", "Sort with a function that compares: negative when its first argument comes first.", {pos("('a, 'a) -> int"), pos("['a]")}, "['a]", [](const BuiltinArgs& a) {
        Values v = copy(a[1]);
        merge_sort(v, a[0]);
        return Value::list(std::move(v)); }},
    {"list.sort.natural", "Sort in the natural order.", {pos("['a]")}, "['a] where 'a is an orderable type", [](const BuiltinArgs& a) {
        return sorted(a[0], [](const Value& x, const Value& y) { return lang::compare(x, y) < 0; }); }},
});

const Definitions associations("List", {
    {"list.assoc", "The value of a key.", {opt("default", "'a?", "null", "Value when there is no such key."), pos("'b", "Key."), pos("['b * 'a]")}, "'a where 'b is an orderable type",
     [](const BuiltinArgs& a) {
        const Value* found = find_key(a[1], a[2]);
        return found ? *found : or_default(a[0], "list.assoc"); }},
    {"list.assoc.mem", "Is there such a key?", {pos("'a", "Key."), pos("['a * 'b]")}, "bool where 'a is an orderable type", [](const BuiltinArgs& a) { return boolean(find_key(a[0], a[1])); }},
    {"list.assoc.nullable", "The value of a key, or null.", {pos("'a", "Key."), pos("['a * 'b]")}, "'b? where 'a is an orderable type", [](const BuiltinArgs& a) {
        const Value* found = find_key(a[0], a[1]);
        return found ? *found : Value::null(); }},
    {"list.assoc.filter", "The pairs for which a function of key and value is true.", {pos("('a, 'b) -> bool"), pos("['a * 'b]")}, "['a * 'b]", [](const BuiltinArgs& a) {
        Values v;
        for (const Value& e : a[1].elements())
            if (a[0].call({key(e), content(e)}).as_bool()) v.push_back(e);
        return Value::list(std::move(v)); }},
    {"list.assoc.filter_map", "The results of a function of key and value that are not null.", {pos("('a, 'b) -> 'c?"), pos("['a * 'b]")}, "['c]", [](const BuiltinArgs& a) {
        Values v;
        for (const Value& e : a[1].elements())
            if (Value r = a[0].call({key(e), content(e)}); !r.is_null()) v.push_back(std::move(r));
        return Value::list(std::move(v)); }},
    {"list.assoc.remove", "Remove the first pair of a key.", {pos("'a", "Key."), pos("['a * 'b]")}, "['a * 'b] where 'a is an orderable type", [](const BuiltinArgs& a) {
        Values v = copy(a[1]);
        auto it = std::ranges::find_if(v, [&](const Value& e) { return equal(key(e), a[0]); });
        if (it != v.end()) v.erase(it);
        return Value::list(std::move(v)); }},
    {"list.assoc.remove.all", "Remove all pairs of a key.", {pos("'a", "Key."), pos("['a * 'b]")}, "['a * 'b] where 'a is an orderable type", [](const BuiltinArgs& a) {
        Values v = copy(a[1]);
        std::erase_if(v, [&](const Value& e) { return equal(key(e), a[0]); });
        return Value::list(std::move(v)); }},
    {"_[_]", "The value of a key, or an empty string: `m[\"title\"]`.", {pos("['a * string]"), pos("'a", "Key.")}, "string", [](const BuiltinArgs& a) {
        const Value* found = find_key(a[1], a[0]);
        return found ? *found : text(""); }},
});

const Definitions pairs("Programming", {
    {"fst", "First of a pair.", {pos("('a * 'b)")}, "'a", [](const BuiltinArgs& a) { return a[0].elements()[0]; }},
    {"snd", "Second of a pair.", {pos("('a * 'b)")}, "'b", [](const BuiltinArgs& a) { return a[0].elements()[1]; }},
    {"iterator.int", "A function that gives the integers of a range one by one, then null.", {pos("int", "First."), pos("int", "Last.")}, "() -> int?", [](const BuiltinArgs& a) {
        Value next = Value::reference(a[0]);
        return native([next, last = a[1].as_int()](std::span<const CallArgument>) {
            Value i = next.call();
            if (i.as_int() > last) return Value::null();
            next.find_method("set")->call({integer(i.as_int() + 1)});
            return i;
        }); }},
});

}  // namespace

}  // namespace castile::builtins
