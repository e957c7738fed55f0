// Regular expressions (PCRE2).

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <memory>

#include "builtins/define.h"
#include "builtins/regexp.h"

namespace castile::builtins {

namespace {

constexpr std::uint32_t match_limit = 10'000'000, depth_limit = 100'000;   // patterns and subjects come from anywhere

struct Regexp {
    std::string pattern, flags;
    bool all = false;
    pcre2_code* code = nullptr;
    ~Regexp() { pcre2_code_free(code); }
};

std::string print(const void* p) {
    auto& r = *static_cast<const Regexp*>(p);
    std::string escaped;
    for (char c : r.pattern) escaped += c == '/' ? std::string("\\/") : std::string(1, c);
    return "r/" + escaped + "/" + r.flags;
}

int order(const void* a, const void* b) {
    auto &x = *static_cast<const Regexp*>(a), &y = *static_cast<const Regexp*>(b);
    int c = (x.pattern + '\0' + x.flags).compare(y.pattern + '\0' + y.flags);
    return c < 0 ? -1 : c > 0;
}

const ForeignKind regexp_kind{"regexp", print, order};

std::shared_ptr<Regexp> compile(const std::string& pattern, const Value& flags) {
    auto r = std::make_shared<Regexp>();
    r->pattern = pattern;
    std::uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF;
    for (const Value& flag : flags.elements()) {
        const std::string& f = flag.as_string();
        r->flags += f;
        if (f == "i") options |= PCRE2_CASELESS;
        else if (f == "s") options |= PCRE2_DOTALL;
        else if (f == "m") options |= PCRE2_MULTILINE;
        else if (f == "g") r->all = true;
        else raise("string", "Unknown flag " + f + " of a regular expression: it should be g, i, s or m.");
    }
    std::ranges::sort(r->flags);
    int error = 0;
    PCRE2_SIZE offset = 0;
    auto text = reinterpret_cast<PCRE2_SPTR>(pattern.data());
    r->code = pcre2_compile(text, pattern.size(), options, &error, &offset, nullptr);
    if (!r->code) {
        PCRE2_UCHAR message[200];
        pcre2_get_error_message(error, message, sizeof message);
        raise("string", "The regular expression " + pattern + " is wrong at character " + std::to_string(offset) + ": " + reinterpret_cast<char*>(message) + ".");
    }
    pcre2_jit_compile(r->code, PCRE2_JIT_COMPLETE);
    return r;
}

/// One match in a subject; groups by number.
class Match {
public:
    explicit Match(const Regexp& r) : regexp_(r), data_(pcre2_match_data_create_from_pattern(r.code, nullptr)), context_(pcre2_match_context_create(nullptr)) {
        pcre2_set_match_limit(context_, match_limit);
        pcre2_set_depth_limit(context_, depth_limit);
    }
    ~Match() {
        pcre2_match_data_free(data_);
        pcre2_match_context_free(context_);
    }
    Match(const Match&) = delete;

    bool find(std::string_view subject, std::size_t from, std::uint32_t options = 0) {
        subject_ = subject;
        count_ = pcre2_match(regexp_.code, reinterpret_cast<PCRE2_SPTR>(subject.data()), subject.size(), from, options, data_, context_);
        if (count_ < 0 && count_ != PCRE2_ERROR_NOMATCH) {
            PCRE2_UCHAR message[200];
            pcre2_get_error_message(count_, message, sizeof message);
            raise("string", std::string("Error while executing a regular expression: ") + reinterpret_cast<char*>(message) + ".");
        }
        return count_ > 0;
    }
    std::size_t begin() const { return pcre2_get_ovector_pointer(data_)[0]; }
    std::size_t end() const { return pcre2_get_ovector_pointer(data_)[1]; }
    int count() const { return count_; }
    std::optional<std::string> group(std::size_t i) const {
        const PCRE2_SIZE* o = pcre2_get_ovector_pointer(data_);
        if (static_cast<int>(i) >= count_ || o[2 * i] == PCRE2_UNSET) return std::nullopt;
        return std::string(subject_.substr(o[2 * i], o[2 * i + 1] - o[2 * i]));
    }
    std::vector<std::pair<std::string, std::string>> named() const {
        std::uint32_t names = 0, size = 0;
        PCRE2_SPTR table = nullptr;
        pcre2_pattern_info(regexp_.code, PCRE2_INFO_NAMECOUNT, &names);
        pcre2_pattern_info(regexp_.code, PCRE2_INFO_NAMEENTRYSIZE, &size);
        pcre2_pattern_info(regexp_.code, PCRE2_INFO_NAMETABLE, &table);
        std::vector<std::pair<std::string, std::string>> out;
        for (std::uint32_t i = 0; i < names; ++i, table += size)
            if (auto value = group(static_cast<std::size_t>(table[0] << 8 | table[1])))
                out.emplace_back(reinterpret_cast<const char*>(table + 2), std::move(*value));
        return out;
    }

private:
    const Regexp& regexp_;
    pcre2_match_data* data_;
    pcre2_match_context* context_;
    std::string_view subject_;
    int count_ = 0;
};

const Regexp& regexp_of(const Value& v) { return *static_cast<const Regexp*>(v.foreign_pointer().get()); }

Value exec(const Regexp& r, const std::string& subject) {
    Match match(r);
    std::vector<Value> groups;
    std::vector<std::pair<std::string, std::string>> named;
    if (match.find(subject, 0)) {
        for (int i = match.count() - 1; i >= 0; --i)
            if (auto s = match.group(static_cast<std::size_t>(i))) groups.push_back(pair(integer(i), text(std::move(*s))));
        named = match.named();
    }
    return Value::list(std::move(groups)).with_method("groups", assoc(named));
}

/// Where to go on after an empty match: one character further.
std::size_t next_character(const std::string& s, std::size_t i) {
    ++i;
    while (i < s.size() && (static_cast<unsigned char>(s[i]) & 0xC0) == 0x80) ++i;
    return i;
}

/// The parts between matches; an empty one at the start or at the end is left out, as Liquidsoap does.
Value split(const Regexp& r, const std::string& subject) {
    std::vector<Value> out;
    if (r.pattern.empty()) {
        for (char c : subject) out.push_back(text(std::string(1, c)));
        return Value::list(std::move(out));
    }
    if (subject.empty()) return Value::list({text("")});
    Match match(r);
    std::size_t from = 0, search = 0;
    auto add = [&](std::size_t to) {
        const bool edge = (from == 0 && to == 0) || (from == subject.size() && to == from);
        if (!edge) out.push_back(text(subject.substr(from, to - from)));
    };
    while (search <= subject.size() && match.find(subject, search)) {
        if (match.end() == match.begin()) {
            if (match.begin() >= subject.size()) break;
            search = next_character(subject, match.begin());
            if (match.begin() == from) continue;
        } else {
            search = match.end();
        }
        add(match.begin());
        from = match.end();
    }
    add(subject.size());
    return Value::list(std::move(out));
}

Value replace(const Regexp& r, const Value& f, const std::string& subject, bool all) {
    Match match(r);
    std::string out;
    std::size_t from = 0, search = 0;
    while (search <= subject.size() && match.find(subject, search)) {
        out += subject.substr(from, match.begin() - from);
        std::size_t begin = match.begin(), end = match.end();
        out += f.call({text(subject.substr(begin, end - begin))}).as_string();
        from = end;
        if (end == begin) {
            if (end >= subject.size()) break;
            search = next_character(subject, end);
            out += subject.substr(end, search - end);
            from = search;
        } else {
            search = end;
        }
        if (!all) break;
    }
    return text(out + (from <= subject.size() ? subject.substr(from) : ""));
}

constexpr const char* groups_type = "[int * string].{groups : [string * string]}";

const lang::RegisterBuiltin methods[] = {
    lang::RegisterBuiltin(ForeignMethod{"regexp", "test", "Does a string match?", {pos("string")}, "bool", [](const Value& self, const BuiltinArgs& a) {
        return boolean(Match(regexp_of(self)).find(a[0].as_string(), 0)); }, ""}),
    lang::RegisterBuiltin(ForeignMethod{"regexp", "exec", "The groups of the first match by their numbers, the last one first, 0 being the whole; `groups`: by name. Empty when there is no match.", {pos("string")}, groups_type,
        [](const Value& self, const BuiltinArgs& a) { return exec(regexp_of(self), a[0].as_string()); }, ""}),
    lang::RegisterBuiltin(ForeignMethod{"regexp", "split", "The parts between matches.", {pos("string")}, "[string]",
        [](const Value& self, const BuiltinArgs& a) { return split(regexp_of(self), a[0].as_string()); }, ""}),
    lang::RegisterBuiltin(ForeignMethod{"regexp", "replace", "Replace the first match, or all with the flag g.", {pos("(string) -> string", "Gives what replaces a match."), pos("string")}, "string",
        [](const Value& self, const BuiltinArgs& a) { return replace(regexp_of(self), a[0], a[1].as_string(), regexp_of(self).all); }, ""}),
};

std::shared_ptr<Regexp> plain(const Value& pattern) { return compile(pattern.as_string(), Value::list({})); }

const Definitions definitions("String", {
    {"regexp", "A regular expression.", {opt("flags", "[string]", "[]", "\"g\" (all matches), \"i\" (any case), \"s\" (. matches newlines), \"m\" (lines)."), pos("string")}, "regexp",
     [](const BuiltinArgs& a) { return Value::foreign(regexp_kind, compile(a[1].as_string(), a[0])); }},
    {"string.match", "Does a string match a pattern?", {arg("pattern", "string", "Regular expression."), pos("string")}, "bool", [](const BuiltinArgs& a) {
        auto r = plain(a[0]);
        return boolean(Match(*r).find(a[1].as_string(), 0)); }},
    {"string.extract", "The groups of the first match of a pattern by their numbers, the last one first, 0 being the whole; `groups`: by name.", {arg("pattern", "string", "Regular expression."), pos("string")}, groups_type, [](const BuiltinArgs& a) {
        return exec(*plain(a[0]), a[1].as_string()); }},
    {"string.replace", "Replace all matches of a pattern.", {arg("pattern", "string", "Regular expression."), pos("(string) -> string", "Gives what replaces a match."), pos("string")}, "string",
     [](const BuiltinArgs& a) { return replace(*plain(a[0]), a[1], a[2].as_string(), true); }},
    {"string.split", "The parts between separators.", {arg("separator", "string", "Regular expression."), pos("string")}, "[string]", [](const BuiltinArgs& a) {
        return split(*plain(a[0]), a[1].as_string()); }},
});

}  // namespace

Value make_regexp(const std::string& pattern) { return Value::foreign(regexp_kind, compile(pattern, Value::list({}))); }

}  // namespace castile::builtins
