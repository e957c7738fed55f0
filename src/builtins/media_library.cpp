// medialib: the metadata of the files in some folders, to be searched.

#include <algorithm>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "builtins/define.h"
#include "builtins/lifecycle.h"
#include "builtins/paths.h"
#include "codec/decoder.h"
#include "lang/builtin_table.h"
#include "sched/scheduler.h"

namespace castile::builtins {

namespace {

namespace fs = std::filesystem;

using Tags = std::vector<std::pair<std::string, std::string>>;

std::string tag(const Tags& tags, std::string_view label) {
    for (const auto& [k, v] : tags)
        if (k == label) return v;
    return "";
}

std::string lower(std::string s) {
    std::ranges::transform(s, s.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return s;
}

double changed_at(const std::string& path) {
    std::error_code error;
    const auto time = fs::last_write_time(path, error);
    if (error) return 0;
    return std::chrono::duration<double>(std::chrono::file_clock::to_sys(time).time_since_epoch()).count();
}

class MediaLibrary : public std::enable_shared_from_this<MediaLibrary> {
public:
    MediaLibrary(std::string id, std::string stored_at, Value standardize, std::vector<std::string> folders)
        : log_(std::move(id)), stored_at_(std::move(stored_at)), standardize_(std::move(standardize)), folders_(std::move(folders)) {}

    void refresh() {
        std::lock_guard working(work_mutex_);
        const auto begin = std::chrono::steady_clock::now();
        std::vector<std::string> known;
        std::vector<std::string> folders;
        {
            std::lock_guard lock(files_mutex_);
            for (const auto& [path, entry] : files_) known.push_back(path);
            folders = folders_;
        }
        for (const std::string& path : known) look_at(path);
        for (const std::string& folder : folders) scan(folder);
        store();
        log_.important("{} files in the library, looked at in {:.2f} s.", size(), std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }

    void add_folder(const std::string& folder) {
        {
            std::lock_guard lock(files_mutex_);
            folders_.insert(folders_.begin(), folder);
        }
        std::lock_guard working(work_mutex_);
        scan(folder);
    }

    void clear() {
        std::lock_guard lock(files_mutex_);
        files_.clear();
    }

    /// A file that cannot be read is a library that starts empty.
    void load() {
        if (stored_at_.empty()) return;
        std::ifstream in(stored_at_);
        if (!in) return;
        try {
            const auto stored = nlohmann::json::parse(in);
            if (stored.at("version") != format_version) return;
            std::lock_guard lock(files_mutex_);
            for (const auto& [path, entry] : stored.at("files").items()) files_[path] = {entry.at("changed").get<double>(), entry.at("tags").get<Tags>()};
        } catch (const std::exception& error) {
            log_.important("Cannot use {}: {}", stored_at_, error.what());
        }
    }

    /// In the order of their paths.
    std::vector<std::pair<std::string, Tags>> all() const {
        std::lock_guard lock(files_mutex_);
        std::vector<std::pair<std::string, Tags>> list;
        for (const auto& [path, entry] : files_) list.emplace_back(path, entry.tags);
        return list;
    }

private:
    static constexpr int format_version = 1;
    static constexpr int deepest = 32;

    struct Entry {
        double changed = 0;
        Tags tags;
    };

    std::size_t size() const {
        std::lock_guard lock(files_mutex_);
        return files_.size();
    }

    void scan(const std::string& folder) {
        std::error_code error;
        fs::recursive_directory_iterator entries(expanded(folder), fs::directory_options::follow_directory_symlink | fs::directory_options::skip_permission_denied, error);
        if (error) return log_.important("Cannot look into {}: {}.", folder, error.message());
        for (auto end = fs::end(entries); entries != end && !shutdown_requested(); entries.increment(error)) {
            if (error) return;
            if (entries.depth() > deepest) entries.disable_recursion_pending();
            std::error_code unreadable;
            if (entries->is_regular_file(unreadable)) look_at(entries->path().string());
        }
    }

    void look_at(const std::string& path) {
        std::error_code error;
        if (!fs::exists(path, error)) {
            std::lock_guard lock(files_mutex_);
            files_.erase(path);
            return;
        }
        const double changed = changed_at(path);
        {
            std::lock_guard lock(files_mutex_);
            auto known = files_.find(path);
            if (known != files_.end() && known->second.changed == changed) return;
        }
        Tags tags;
        const Metadata read = read_file_metadata(path);
        for (const auto& [label, value] : read.entries()) tags.emplace_back(lower(label), value);
        tags = to_assoc(standardize_.call({assoc(tags)}));
        constexpr std::string_view left_out[] = {"priv", "rva2", "pic", "apic", "coverart", "metadata_block_picture", "cover"};
        std::erase_if(tags, [&](const auto& t) { return std::ranges::find(left_out, t.first) != std::end(left_out); });
        tags.insert(tags.begin(), {"basename", fs::path(path).filename().string()});
        if (tag(tags, "filename").empty()) tags.emplace_back("filename", path);
        std::lock_guard lock(files_mutex_);
        files_[path] = {changed, std::move(tags)};
    }

    void store() {
        if (stored_at_.empty()) return;
        nlohmann::json files = nlohmann::json::object();
        {
            std::lock_guard lock(files_mutex_);
            for (const auto& [path, entry] : files_) files[path] = {{"changed", entry.changed}, {"tags", entry.tags}};
        }
        const nlohmann::json all = {{"version", format_version}, {"files", std::move(files)}};
        const std::string beside = stored_at_ + ".new";
        std::ofstream out(beside, std::ios::trunc);
        out << all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        std::error_code error;
        if (out.flush()) fs::rename(beside, stored_at_, error);
        if (!out || error) log_.important("Cannot write {}.", stored_at_);
    }

    Logger log_;
    std::string stored_at_;
    Value standardize_;
    std::recursive_mutex work_mutex_;    // one scan at a time, even one that `standardize` asks for
    mutable std::mutex files_mutex_;
    std::vector<std::string> folders_;
    std::map<std::string, Entry> files_;
};

enum : unsigned {
    case_sensitive, artist, artist_contains, artist_matches, album, genre, title, title_contains, filename, filename_contains, filename_matches,
    year, year_ge, year_lt, bpm, bpm_ge, bpm_lt, predicate
};

const std::vector<BuiltinParam> find_params{
    opt("case_sensitive", "bool", "true"), opt("artist", "string?", "null"), opt("artist_contains", "string?", "null"), opt("artist_matches", "string?", "null"),
    opt("album", "string?", "null"), opt("genre", "string?", "null"), opt("title", "string?", "null"), opt("title_contains", "string?", "null"),
    opt("filename", "string?", "null"), opt("filename_contains", "string?", "null"), opt("filename_matches", "string?", "null"),
    opt("year", "int?", "null"), opt("year_ge", "int?", "null"), opt("year_lt", "int?", "null"), opt("bpm", "int?", "null"), opt("bpm_ge", "int?", "null"), opt("bpm_lt", "int?", "null"),
    opt("predicate", "([string * string]) -> bool", "null"),
};

/// What a search asks of the tags of a file.
class Wanted {
public:
    explicit Wanted(std::span<const CallArgument> arguments) {
        for (std::size_t i = 0; i < find_params.size(); ++i) {
            given_.push_back(Value::null());
            for (const CallArgument& a : arguments)
                if (a.label == Name(find_params[i].label)) given_.back() = a.value;
        }
        sensitive_ = given_[case_sensitive].is_null() || given_[case_sensitive].as_bool();
    }

    bool fits(const Tags& tags) const {
        return same(tags, "artist", artist) && holds(tags, "artist", artist_contains) && matches(tags, "artist", artist_matches) && same(tags, "album", album) &&
               same(tags, "genre", genre) && same(tags, "title", title) && holds(tags, "title", title_contains) && same(tags, "filename", filename) &&
               holds(tags, "basename", filename_contains) && matches(tags, "basename", filename_matches) && within(tags, "year", year, year_ge, year_lt) &&
               within(tags, "bpm", bpm, bpm_ge, bpm_lt) && (given_[predicate].is_null() || given_[predicate].call({assoc(tags)}).as_bool());
    }

private:
    std::string text_of(const std::string& s) const { return sensitive_ ? s : lower(s); }
    bool same(const Tags& tags, const char* label, unsigned what) const {
        return given_[what].is_null() || text_of(tag(tags, label)) == text_of(given_[what].as_string());
    }
    bool holds(const Tags& tags, const char* label, unsigned what) const {
        return given_[what].is_null() || text_of(tag(tags, label)).contains(text_of(given_[what].as_string()));
    }
    bool matches(const Tags& tags, const char* label, unsigned what) const {
        if (given_[what].is_null()) return true;
        static const lang::Builtin* regexp = lang::find_builtin("regexp");
        const CallArgument pattern[] = {{"", given_[what]}};
        return lang::builtin_value(*regexp).call(pattern).find_method("test")->call({text(tag(tags, label))}).as_bool();
    }
    bool within(const Tags& tags, const char* label, unsigned equal, unsigned from, unsigned below) const {
        if (given_[equal].is_null() && given_[from].is_null() && given_[below].is_null()) return true;
        const std::string s = tag(tags, label);
        if (s.empty() || s.size() > 9 || !std::ranges::all_of(s, [](unsigned char c) { return std::isdigit(c); })) return false;
        const std::int64_t n = std::stoi(s);
        return (given_[equal].is_null() || n == given_[equal].as_int()) && (given_[from].is_null() || n >= given_[from].as_int()) && (given_[below].is_null() || n < given_[below].as_int());
    }

    std::vector<Value> given_;
    bool sensitive_;
};

void refresh_later(const std::shared_ptr<MediaLibrary>& library, double period) {
    scheduler().after(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(std::max(period, 0.1))), [library, period] {
        scheduler().blocking([library, period] {
            if (shutdown_requested()) return;
            library->refresh();
            refresh_later(library, period);
        });
    });
}

Value make_library(const BuiltinArgs& a) {
    enum : unsigned { id, persistency, refresh, standardize, initial_progress, directories, folder };
    std::vector<std::string> folders;
    if (!a[folder].is_null()) folders.push_back(a[folder].as_string());
    for (const Value& d : a[directories].elements()) folders.push_back(d.as_string());
    auto library = std::make_shared<MediaLibrary>(optional_text(a[id]).value_or("medialib"), expanded(optional_text(a[persistency]).value_or("")), a[standardize], std::move(folders));
    library->load();
    library->refresh();
    if (!a[refresh].is_null()) refresh_later(library, a[refresh].as_float());
    return Value::record({
        {"find", native([library](std::span<const CallArgument> x) {
            const Wanted wanted(x);
            std::vector<std::string> found;
            for (const auto& [path, tags] : library->all())
                if (wanted.fits(tags)) found.push_back(path);
            return strings(found);
        })},
        {"refresh", native([library](std::span<const CallArgument>) {
            library->refresh();
            return Value();
        })},
        {"add_directory", native([library](std::span<const CallArgument> x) {
            library->add_folder(x[0].value.as_string());
            return Value();
        })},
        {"clear", native([library](std::span<const CallArgument>) {
            library->clear();
            return Value();
        })},
    });
}

const Definitions definitions("File", {
    {"medialib", "The metadata of the files in some folders, to be searched with `find`.",
     {opt("id", "string?", "null", "Label in the log."), opt("persistency", "string?", "null", "File to keep it in, so that only changed files are read at the next start."),
      opt("refresh", "float?", "null", "Seconds between two looks for changed files; null: never."), opt("standardize", "([string * string]) -> [string * string]", "fun (m) -> m", "Changes the metadata of a file."),
      opt("initial_progress", "bool", "true", "Kept for compatibility: progress is logged."), opt("directories", "[string]", "[]", "Folders."), opt_pos("string?", "null", "One more folder.")},
     "unit", make_library,
     {{"find", lang::function_type_text(find_params, "[string]"), "The files whose metadata fit: all of what is given."}, {"refresh", "() -> unit", "Look for new, changed and removed files."},
      {"add_directory", "(string) -> unit", "Look into one more folder."}, {"clear", "() -> unit", "Forget all files."}}},
});

}  // namespace

}  // namespace castile::builtins
