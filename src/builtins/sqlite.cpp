// SQLite databases: `sqlite(file)`, rows, and rows as records (`let sqlite.row`, `let sqlite.query`).

#include <sqlite3.h>

#include <algorithm>
#include <mutex>

#include "builtins/define.h"
#include "builtins/numbers.h"
#include "lang/decode.h"
#include "lang/text.h"

namespace castile::builtins {

namespace {

using lang::Shape;

constexpr int busy_milliseconds = 5000;   // how long to wait for another connection's lock

/// A row: its columns, each with text or nothing.
struct Row {
    std::shared_ptr<const std::vector<std::string>> names;
    std::vector<std::optional<std::string>> values;
};

const ForeignKind row_kind{"sqlite.row", [](const void*) { return std::string("sqlite.row"); }};

/// An open file. Any thread; one statement runs at a time, but not while a script's function sees a row.
class Database {
public:
    explicit Database(const std::string& path) {
        const int result = sqlite3_open_v2(path.c_str(), &handle_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, nullptr);
        if (result != SQLITE_OK) {
            const std::string message = handle_ ? sqlite3_errmsg(handle_) : "no memory";
            sqlite3_close_v2(handle_);
            raise("sqlite", "The database " + path + " cannot be opened: " + message + ".");
        }
        sqlite3_busy_timeout(handle_, busy_milliseconds);
    }
    ~Database() { close(); }
    Database(const Database&) = delete;

    void close() {
        std::lock_guard lock(handle_mutex_);
        sqlite3_close_v2(handle_);
        handle_ = nullptr;
    }

    /// Runs each statement of the text; calls f(row) on each row.
    template <class F> void run(const std::string& sql, F f) {
        const char *rest = sql.c_str(), *end = rest + sql.size();
        while (rest < end) {
            Statement statement(*this, rest, end, sql);
            if (!statement) continue;   // blanks or a comment
            while (auto row = statement.next()) f(std::move(*row));
        }
    }

    void insert(const std::string& table, bool replace, const Value& record) {
        std::string columns, marks;
        for (const auto& [name, value] : record.own_methods()) {
            columns += (columns.empty() ? "" : ", ") + name.str();
            marks += marks.empty() ? "?" : ", ?";
        }
        if (columns.empty()) raise("sqlite", "A record was expected.");
        const std::string sql = std::string("INSERT ") + (replace ? "OR REPLACE " : "") + "INTO " + table + " (" + columns + ") VALUES (" + marks + ")";
        const char* rest = sql.c_str();
        Statement statement(*this, rest, rest + sql.size(), sql);
        int i = 0;
        for (const auto& [name, value] : record.own_methods()) statement.bind(++i, name, value);
        while (statement.next()) {}
    }

private:
    class Statement {
    public:
        /// `rest` moves behind what was read.
        Statement(Database& database, const char*& rest, const char* end, const std::string& sql) : database_(database), sql_(sql) {
            std::lock_guard lock(database.handle_mutex_);
            if (!database.handle_) raise("sqlite", "The database is closed.");
            const char* tail = end;
            check(sqlite3_prepare_v2(database.handle_, rest, static_cast<int>(end - rest), &statement_, &tail));
            rest = tail > rest ? tail : end;
            if (!statement_) return;
            auto names = std::make_shared<std::vector<std::string>>();
            for (int i = 0; i < sqlite3_column_count(statement_); ++i) names->emplace_back(sqlite3_column_name(statement_, i));
            names_ = std::move(names);
        }
        ~Statement() { sqlite3_finalize(statement_); }
        Statement(const Statement&) = delete;
        explicit operator bool() const { return statement_; }

        void bind(int i, Name name, const Value& v) {
            switch (v.kind()) {
            case Value::Kind::null: return check(sqlite3_bind_null(statement_, i));
            case Value::Kind::integer: return check(sqlite3_bind_int64(statement_, i, v.as_int()));
            case Value::Kind::floating: return check(sqlite3_bind_double(statement_, i, v.as_float()));
            case Value::Kind::string: return check(sqlite3_bind_text64(statement_, i, v.as_string().data(), v.as_string().size(), SQLITE_TRANSIENT, SQLITE_UTF8));
            default: raise("sqlite", "Unexpected content for field " + name.str() + ".");
            }
        }
        std::optional<Row> next() {
            std::lock_guard lock(database_.handle_mutex_);
            if (!database_.handle_) raise("sqlite", "The database is closed.");
            const int result = sqlite3_step(statement_);
            if (result == SQLITE_DONE) return std::nullopt;
            if (result != SQLITE_ROW) check(result);
            Row row{names_, {}};
            for (int i = 0; i < static_cast<int>(names_->size()); ++i) {
                const unsigned char* s = sqlite3_column_text(statement_, i);   // before the length: it may convert
                const int size = sqlite3_column_bytes(statement_, i);
                row.values.push_back(s ? std::optional(std::string(reinterpret_cast<const char*>(s), static_cast<std::size_t>(size))) : std::nullopt);
            }
            return row;
        }

    private:
        void check(int result) const {
            if (result == SQLITE_OK) return;
            raise("sqlite", std::string("Command failed (") + sqlite3_errstr(result) + "): " + sqlite3_errmsg(database_.handle_) + ". Statement: " + sql_ + ".");
        }
        Database& database_;
        const std::string& sql_;
        sqlite3_stmt* statement_ = nullptr;
        std::shared_ptr<const std::vector<std::string>> names_;
    };

    std::mutex handle_mutex_;
    sqlite3* handle_ = nullptr;
};

Value row_value(Row row) { return Value::foreign(row_kind, std::make_shared<Row>(std::move(row))); }

Value open(const BuiltinArgs& a) {
    auto database = std::make_shared<Database>(a[0].as_string());
    auto positional = [](std::span<const CallArgument> arguments, std::size_t n) -> const Value& {
        for (const CallArgument& x : arguments)
            if (x.label.empty() && n-- == 0) return x.value;
        raise("sqlite", "An argument is missing.");
    };
    Value exec = native([=](std::span<const CallArgument> x) {
        database->run(positional(x, 0).as_string(), [](Row) {});
        return Value();
    });
    Value query = native([=](std::span<const CallArgument> x) {
        std::vector<Value> rows;
        database->run(positional(x, 0).as_string(), [&](Row row) { rows.push_back(row_value(std::move(row))); });
        return Value::list(std::move(rows));
    });
    Value iter = native([=](std::span<const CallArgument> x) {
        database->run(positional(x, 1).as_string(), [&](Row row) { positional(x, 0).call({row_value(std::move(row))}); });
        return Value();
    });
    Value insert = native([=](std::span<const CallArgument> x) {
        std::string table;
        bool replace = false;
        for (const CallArgument& argument : x) {
            if (argument.label == Name("table")) table = argument.value.as_string();
            if (argument.label == Name("replace")) replace = argument.value.as_bool();
        }
        database->insert(table, replace, positional(x, 0));
        return Value();
    });
    Value close = native([=](std::span<const CallArgument>) {
        database->close();
        return Value();
    });
    return Value::record({{"exec", exec}, {"query", query}, {"iter", iter}, {"insert", insert}, {"close", close}});
}

std::optional<Value> converted(const std::string& s, Shape::Kind kind) {
    switch (kind) {
    case Shape::Kind::integer: {
        const auto i = parse_int(s);
        return i ? std::optional(integer(*i)) : std::nullopt;
    }
    case Shape::Kind::floating: {
        const auto d = parse_float(s);
        return d ? std::optional(number(*d)) : std::nullopt;
    }
    case Shape::Kind::boolean: return s == "0" || s == "1" ? std::optional(boolean(s == "1")) : std::nullopt;
    case Shape::Kind::string: case Shape::Kind::any: return text(s);
    default: return std::nullopt;
    }
}

Value decode_row(const Shape& shape, const Value& v) {
    const auto row = v.as_foreign<Row>();
    std::vector<std::pair<Name, Value>> fields;
    for (const Shape::Field& f : shape.fields) {
        const auto at = std::ranges::find(*row->names, f.key.str());
        const bool there = at != row->names->end(), may_miss = f.shape.nullable || f.optional;
        const std::optional<std::string> cell = there ? row->values[static_cast<std::size_t>(at - row->names->begin())] : std::nullopt;
        if (!there && !may_miss) continue;   // an error where it is used
        auto value = cell ? converted(*cell, f.shape.kind) : std::nullopt;
        if (!value && !cell && (may_miss || f.shape.kind == Shape::Kind::any)) value = Value::null();
        if (!value) {
            raise("sqlite", "Parse error: sqlite query response for column " + f.key.str() + " with value " + cell.value_or("NULL") + " cannot be parsed as type " + f.shape.describe());
        }
        fields.emplace_back(f.name, *value);
    }
    return Value::record(std::move(fields));
}

Value parse_row(const Shape& shape, std::span<const CallArgument>, const Value& input) {
    if (input.foreign_kind() != &row_kind) raise("sqlite", "`let sqlite.row` needs a row of a database.");
    return decode_row(shape, input);
}

Value parse_query(const Shape& shape, std::span<const CallArgument>, const Value& input) {
    std::vector<Value> rows;
    if (input.kind() != Value::Kind::list) raise("sqlite", "`let sqlite.query` needs the rows that a query gave.");
    for (const Value& row : input.elements()) {
        if (row.foreign_kind() != &row_kind) raise("sqlite", "`let sqlite.query` needs the rows that a query gave.");
        rows.push_back(shape.elements.empty() ? Value() : decode_row(shape.elements[0], row));
    }
    return Value::list(std::move(rows));
}

const lang::RegisterDecoder row_decoder("sqlite.row", parse_row), query_decoder("sqlite.query", parse_query);

const lang::RegisterBuiltin to_list(ForeignMethod{"sqlite.row", "to_list", "The columns and their values, the last column first.", {}, "[string * string?]",
    [](const Value& self, const BuiltinArgs&) {
        const auto row = self.as_foreign<Row>();
        std::vector<Value> pairs;
        for (std::size_t i = row->values.size(); i-- > 0;) pairs.push_back(pair(text((*row->names)[i]), row->values[i] ? text(*row->values[i]) : Value::null()));
        return Value::list(std::move(pairs)); }, ""});

const Definitions definitions("Programming", {
    {"sqlite", "An SQLite database, made when the file does not exist. Failures are errors of kind `sqlite`.", {pos("string", "The file; \":memory:\" for none.")},
     "{exec : (string) -> unit, query : (string) -> [sqlite.row], iter : (((sqlite.row) -> unit), string) -> unit, insert : (table : string, ?replace : bool, 'a) -> unit, close : () -> unit}", open},
    {"sqlite.escape", "A string as SQL writes it, between quotes.", {pos("string")}, "string", [](const BuiltinArgs& a) {
        std::string out = "'";
        for (char c : a[0].as_string()) out += c == '\'' ? std::string("''") : std::string(1, c);
        return text(out + "'"); }},
});

}  // namespace

}  // namespace castile::builtins
