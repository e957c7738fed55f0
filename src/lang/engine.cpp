// The front end: builtins, standard library and scripts in one scope.

#include "lang/engine.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <mutex>
#include <optional>
#include <span>

#include "base/error.h"
#include "lang/builtin_table.h"
#include "lang/eval.h"
#include "lang/free_names.h"
#include "lang/globals.h"
#include "lang/library.h"
#include "lang/parse.h"
#include "lang/settings_globals.h"

namespace castile::lang {

struct Engine::Impl {
    explicit Impl(Options o) : options(std::move(o)), library(library_directory()) {
        freeze_builtins();
        scope.add_builtins();
        for (const Builtin& b : all_builtins()) types.declare(b.name, type_text(b));
        for (const BuiltinConstant& c : all_constants()) types.declare(c.name, c.type);
        for (const ForeignMethod& m : all_foreign_methods()) types.declare_method(m.constructor, m.name, type_text(m));
        settings.emplace(types, scope);
        for (const Builtin& b : all_builtins())
            if (!b.deprecated.empty()) types.deprecate(b.name, b.deprecated);
        types.end_library();
        if (options.encoder_typer) types.set_encoder_typer(options.encoder_typer);
        context.defined = [this](std::string_view name) { return defined(name); };
        context.encoder_available = options.encoder_available;
        context.include_directory = library_directory();
        evaluator_hooks().encoder_maker = options.encoder_maker;
        evaluator_hooks().evaluate_text = [this](const std::string& text, const Type* type, Span) { return evaluate_text(text, type); };
        set_default_evaluator([this](std::string_view text) { return evaluate_default(text); });
    }
    ~Impl() {
        evaluator_hooks() = {};
        set_default_evaluator(nullptr);
    }

    std::string library_directory() const {
        if (!options.standard_library) return "";
        return options.library_directory.empty() ? Library::find_directory() : options.library_directory;
    }

    bool defined(std::string_view name) {
        return types.defined(name) || library.defines(name) || SettingGlobals::defines(name);
    }

    Arena& new_arena() { return arenas.emplace_back(); }   // kept: closures point into terms

    /// For the library and for defaults of builtins: these are evaluated once in a process, whatever engine does it, and may
    /// name what the library defines.
    static Arena& new_lasting_arena() {
        static std::mutex arenas_mutex;
        static auto* arenas = new std::deque<Arena>;
        std::lock_guard lock(arenas_mutex);
        return arenas->emplace_back();
    }

    Term* parse(Arena& arena, const std::string& name, std::string text, std::vector<Diagnostic>& warnings) {
        std::uint32_t file = source_map().add(name, std::move(text));
        return parse_script(arena, file, context, warnings);
    }

    /// Types and resolves after loading what the term uses of the library.
    Program prepare(Arena& arena, Term* term, std::vector<Diagnostic>& warnings) {
        load_for(term);
        last_type = check(arena, types, term, warnings);
        Program program = resolve(arena, scope, term);
        if (options.strict)
            for (const Diagnostic& w : warnings)
                if (w.code <= 4 || w.code == 6) throw ScriptError(w);
        return program;
    }

    void load_for(const Term* term) {
        std::set<std::string> names;
        collect_names(term, names);
        settings->declare_for(names);
        for (Library::File* file : library.needed_for(names)) load(*file);
    }

    void load(Library::File& file) {
        if (file.loaded) return;
        file.loaded = true;
        if (!options.tolerant) return load_now(file);
        try {
            load_now(file);
        } catch (const std::exception& e) {   // ScriptError, RuntimeError, Error
            faults.emplace_back(e.what());
        }
    }

    void load_now(Library::File& file) {
        std::vector<Diagnostic> ignored;
        Arena& arena = new_lasting_arena();
        Term* term = parse(arena, file.path, std::move(file.text), ignored);
        std::size_t first = docs.size();
        note_docs(term);
        std::size_t last = docs.size();
        load_for(term);
        check(arena, types, term, CheckRole::library);
        evaluate(resolve(arena, scope, term));
        mark_deprecated(first, last);
    }

    static std::string let_name(const term::Let& let) {
        std::string name;
        for (Name part : let.path) name += (name.empty() ? "" : ".") + part.str();
        auto* v = let.pattern ? std::get_if<pat::Variable>(&let.pattern->node) : nullptr;
        return name.empty() && v ? v->name.str() : name;
    }

    template <class F> void each_doc(Term* t, F f) {
        while (t) {
            if (auto* let = std::get_if<term::Let>(&t->node)) {
                if (let->doc) f(*let);
                t = let->body;
            } else if (auto* s = std::get_if<term::Sequence>(&t->node)) {
                t = s->second;
            } else {
                return;
            }
        }
    }

    void note_docs(Term* term) {
        each_doc(term, [this](const term::Let& let) { docs.emplace_back(let_name(let), let.doc); });
    }

    /// "@deprecated Use ..." of definitions just made.
    void mark_deprecated(std::size_t from, std::size_t to) {
        for (const auto& [name, doc] : std::span(docs).subspan(from, to - from))
            for (const auto& [tag, text] : doc->tags)
                if (tag == "@deprecated") types.deprecate(name, text.empty() ? "It will be removed." : text);
    }

    Value evaluate_default(std::string_view text) {
        std::lock_guard lock(front_end_mutex);
        std::vector<Diagnostic> ignored;
        Arena& arena = new_lasting_arena();
        Term* term = parse(arena, "<default value>", std::string(text), ignored);
        return evaluate(resolve(arena, scope, term));
    }

    Value evaluate_text(const std::string& text, const Type* type) {
        std::vector<Diagnostic> warnings;
        Program program;
        try {
            std::lock_guard lock(front_end_mutex);
            Arena& arena = new_arena();
            Term* term = parse(arena, "<eval>", text, warnings);
            if (type) term = arena.make<Term>(Term{term->span, term::Ascribe{term, parse_type(arena, print_type(type))}});
            program = prepare(arena, term, warnings);
        } catch (const ScriptError& e) {
            throw RuntimeError("eval", e.what());
        }
        return evaluate(program);
    }

    Options options;
    std::recursive_mutex front_end_mutex;   // parsing, typing, resolving; not evaluation
    std::deque<Arena> arenas;
    TypeEnvironment types;
    GlobalScope scope;
    std::optional<SettingGlobals> settings;   // once the builtins are known
    Library library;
    ParseContext context;
    Type* last_type = nullptr;
    std::vector<std::pair<std::string, const term::Doc*>> docs;
    std::vector<std::string> faults;
};

Engine::Engine(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Engine::~Engine() = default;

void Engine::check_script(const std::string& name, std::string text, std::vector<Diagnostic>& warnings) {
    std::lock_guard lock(impl_->front_end_mutex);
    Arena& arena = impl_->new_arena();
    impl_->prepare(arena, impl_->parse(arena, name, std::move(text), warnings), warnings);
}

Value Engine::run_script(const std::string& name, std::string text, std::vector<Diagnostic>& warnings) {
    Program program;
    {
        std::lock_guard lock(impl_->front_end_mutex);
        Arena& arena = impl_->new_arena();
        Term* term = impl_->parse(arena, name, std::move(text), warnings);
        program = impl_->prepare(arena, term, warnings);
    }
    return evaluate(program);
}

std::string Engine::last_type() const { return impl_->last_type ? print_type(impl_->last_type) : ""; }
TypeEnvironment& Engine::types() noexcept { return impl_->types; }

Term* Engine::parse(const std::string& name, std::string text, std::vector<Diagnostic>& warnings) {
    std::lock_guard lock(impl_->front_end_mutex);
    return impl_->parse(impl_->new_arena(), name, std::move(text), warnings);
}

Engine::Analysis Engine::analyse(const std::string& name, std::string text) {
    std::lock_guard lock(impl_->front_end_mutex);
    Analysis result;
    try {
        Arena& arena = impl_->new_arena();
        result.term = impl_->parse(arena, name, std::move(text), result.warnings);
        impl_->load_for(result.term);
        CheckResult checked = check(arena, impl_->types, result.term);
        std::ranges::move(checked.warnings, std::back_inserter(result.warnings));
    } catch (const ScriptError& e) {
        result.error = e.diagnostic();
    }
    return result;
}

std::vector<Engine::Documented> Engine::documented() {
    std::lock_guard lock(impl_->front_end_mutex);
    impl_->settings->declare_for({"settings"});
    for (Library::File& file : impl_->library.files()) impl_->load(file);
    std::vector<Documented> all;
    for (const auto& [name, doc] : impl_->docs) all.push_back({name, impl_->types.type_of(name), doc->text, doc->tags});
    return all;
}

const std::vector<std::string>& Engine::faults() const noexcept { return impl_->faults; }

std::optional<Value> Engine::global(std::string_view name) {
    std::lock_guard lock(impl_->front_end_mutex);
    GlobalNode* node = impl_->scope.find_path(name);
    if (!node || !node->has_value()) return std::nullopt;
    return global_slot(node->value_slot());
}

void Engine::define(std::string_view name, std::string_view type, Value value) {
    std::lock_guard lock(impl_->front_end_mutex);
    impl_->types.declare(Name(name), type);
    GlobalNode& node = impl_->scope.declare(name);
    node.builtin = nullptr;
    node.slot = new_global_slot(std::move(value));
}

}  // namespace castile::lang
