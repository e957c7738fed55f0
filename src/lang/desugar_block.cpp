// Blocks, definitions, patterns, included files.
#include <algorithm>

#include <fmt/format.h>

#include "lang/desugar.h"
#include "lang/desugar_names.h"
#include "lang/doc_comment.h"
#include "lang/parser.h"
#include "lang/preprocess.h"

namespace castile::lang {

namespace {

constexpr std::size_t max_include_depth = 100;

std::string dotted(const std::vector<Name>& path) {
    std::string out;
    for (const Name part : path) out += (out.empty() ? "" : ".") + part.str();
    return out;
}

}  // namespace

Term* Desugar::program(const ast::Program& program) {
    current_ = &program;
    const std::string& name = source_map().name(program.file);
    reading_.push_back({canonical_path(name), {}});
    std::vector<Piece> pieces;
    const auto& path = desugar_names::script_path;
    const std::vector<Name> path_names(std::begin(path), std::end(path));
    const Span start{program.file, 0, 0};
    if (!name.empty() && !name.starts_with('<') && context_.defined && context_.defined(dotted(path_names))) {
        auto* root = arena_.make<Pattern>(start, pat::Variable{path_names[0]}, nullptr);
        pieces.push_back({make(start, term::Let{term::LetKind::plain, root, path_names, make(start, term::String{name}), nullptr, nullptr, false}), true});
    }
    statements(*program.block, pieces);
    return chain(pieces, program.block->span);
}

Term* Desugar::block(const ast::Block& block) {
    const std::size_t outer = defined_.size();
    std::vector<Piece> pieces;
    statements(block, pieces);
    defined_.resize(outer);
    return chain(pieces, block.span);
}

/// Statements become terms whose bodies are still to be filled: those of Let and Open.
void Desugar::statements(const ast::Block& block, std::vector<Piece>& out) {
    for (const ast::Statement& s : block.statements) {
        if (const auto* e = std::get_if<ast::Evaluate>(&s.node)) {
            if (const auto* conditional = std::get_if<ast::StaticIf>(&e->value->node)) {
                if (const ast::Block* branch = taken(*conditional)) statements(*branch, out);
            } else {
                out.push_back({term(e->value), false});
            }
        } else if (const auto* b = std::get_if<ast::Binding>(&s.node)) {
            out.push_back({binding(s, *b), true});
        } else if (const auto* o = std::get_if<ast::Open>(&s.node)) {
            out.push_back({make(s.span, term::Open{term(o->value), nullptr, -1}), true});
        } else {
            include(std::get<ast::Include>(s.node), s.span, out);
        }
    }
}

Term* Desugar::chain(const std::vector<Piece>& pieces, Span span) {
    Term* rest = nullptr;
    for (auto it = pieces.rbegin(); it != pieces.rend(); ++it) {
        Term* piece = it->term;
        if (!it->opens) {
            rest = rest == nullptr ? piece : make(piece->span, term::Sequence{piece, rest});
        } else if (auto* let = std::get_if<term::Let>(&piece->node)) {
            let->body = rest;
            rest = piece;
        } else {
            std::get<term::Open>(piece->node).body = rest != nullptr ? rest : unit(piece->span);
            rest = piece;
        }
    }
    return rest != nullptr ? rest : unit(span);
}

const ast::Block* Desugar::taken(const ast::StaticIf& conditional) {
    const bool yes = holds(conditional.condition, context_, [&](std::string_view name) {
        return std::find(defined_.rbegin(), defined_.rend(), name) != defined_.rend();
    });
    return yes ? conditional.then : conditional.otherwise;
}

void Desugar::include(const ast::Include& include, Span span, std::vector<Piece>& out) {
    const auto path = find_included(include, source_map().name(span.file), context_);
    if (!path) {
        if (include.kind == ast::Include::Kind::extra) return;
        fail(span, fmt::format("There is no file {} to include.", include.name));
    }
    const std::string canonical = canonical_path(*path);
    for (const Reading& r : reading_) {
        if (r.path != canonical) continue;
        std::vector<Diagnostic::Note> notes;
        if (r.where.file != 0) notes.push_back({r.where, "It is being included from here."});
        fail(span, fmt::format("{} includes itself.", *path), std::move(notes));
    }
    if (reading_.size() > max_include_depth) fail(span, fmt::format("More than {} files include each other.", max_include_depth));
    auto text = read_script(*path);
    if (!text) fail(span, fmt::format("The file {} cannot be read.", *path));
    const std::uint32_t file = source_map().add(*path, std::move(*text));
    const auto* outer = current_;
    const ast::Program included = Parser(trees_, arena_, file, warnings_).program();
    current_ = &included;
    reading_.push_back({canonical, span});
    statements(*included.block, out);
    reading_.pop_back();
    current_ = outer;
}

void Desugar::remember(const Pattern& bound, const std::vector<Name>& path) {
    if (!path.empty()) {
        defined_.push_back(dotted(path));
        return;
    }
    if (const auto* v = std::get_if<pat::Variable>(&bound.node)) {
        defined_.push_back(v->name.str());
    } else if (const auto* t = std::get_if<pat::Tuple>(&bound.node)) {
        for (const Pattern* p : t->elements) remember(*p, {});
    } else if (const auto* l = std::get_if<pat::List>(&bound.node)) {
        for (const Pattern* p : l->before) remember(*p, {});
        if (l->rest != nullptr) remember(*l->rest, {});
        for (const Pattern* p : l->after) remember(*p, {});
    } else if (const auto* r = std::get_if<pat::Record>(&bound.node)) {
        for (const pat::Field& f : r->fields) remember(*f.pattern, {});
        if (r->base != nullptr) remember(*r->base, {});
    }
}

Term* Desugar::binding(const ast::Statement& statement, const ast::Binding& binding) {
    term::Let let{};
    let.kind = binding.decoration == "rec" ? term::LetKind::recursive : binding.decoration == "replaces" ? term::LetKind::replaces : term::LetKind::plain;
    let.is_def = binding.kind == ast::BindingKind::def;
    let.value = bound_value(binding, statement.span);
    const auto* path = std::get_if<ast::VariablePattern>(&binding.pattern->node);
    if (path != nullptr && path->path.size() > 1) {
        let.path = path->path;
        let.pattern = arena_.make<Pattern>(binding.pattern->span, pat::Variable{path->path[0]}, nullptr);
        if (binding.type != nullptr) let.value = make(let.value->span, term::Ascribe{let.value, binding.type});
    } else {
        let.pattern = pattern(*binding.pattern);
        let.pattern->annotation = binding.type;
    }
    const std::vector<Comment>& comments = current_->comments;
    const std::span<const Comment> above(comments.data() + statement.comments_begin, statement.comments_end - statement.comments_begin);
    term::Doc doc = doc_of(source_map().text(current_->file), above);
    if (!doc.text.empty() || !doc.tags.empty()) let.doc = arena_.make<term::Doc>(std::move(doc));
    remember(*let.pattern, let.path);
    return make(statement.span, std::move(let));
}

Term* Desugar::bound_value(const ast::Binding& binding, Span span) {
    if (binding.kind == ast::BindingKind::def) {
        if (!binding.params) return block(*binding.body);
        const auto* name = std::get_if<ast::VariablePattern>(&binding.pattern->node);
        term::Function f = function(*binding.params, name != nullptr ? name->path.back() : Name());
        f.body = block(*binding.body);
        return make(span, std::move(f));
    }
    Term* value = term(binding.value);
    if (binding.decoration.empty() || binding.decoration == "replaces") return value;
    return make(span, term::Decode{binding.decoration, arguments(binding.options), value});
}

term::Function Desugar::function(const std::vector<ast::Param>& params, Name name) {
    term::Function f{};
    f.name = name;
    for (const ast::Param& p : params) {
        if (p.argsof) {
            f.argsof.push_back(argsof(*p.argsof));
            continue;
        }
        term::Param param{};
        param.label = p.label;
        param.pattern = p.pattern != nullptr ? pattern(*p.pattern) : arena_.make<Pattern>(p.span, pat::Variable{p.label}, nullptr);
        param.annotation = p.type;
        param.optional = p.default_value != nullptr;
        if (param.optional) param.default_value = term(p.default_value);
        f.params.push_back(param);
    }
    return f;
}

Pattern* Desugar::pattern(const ast::Pattern& p) {
    const auto done = [&](decltype(Pattern::node) node) { return arena_.make<Pattern>(p.span, std::move(node), nullptr); };
    if (const auto* v = std::get_if<ast::VariablePattern>(&p.node)) {
        if (v->path.size() > 1) fail(p.span, "A field cannot be bound inside a pattern.");
        return done(pat::Variable{v->path[0]});
    }
    if (const auto* t = std::get_if<ast::TuplePattern>(&p.node)) {
        pat::Tuple tuple;
        for (const ast::Pattern* e : t->elements) tuple.elements.push_back(pattern(*e));
        return done(std::move(tuple));
    }
    if (const auto* l = std::get_if<ast::ListPattern>(&p.node)) {
        pat::List list;
        for (const ast::Pattern* e : l->before) list.before.push_back(pattern(*e));
        if (l->rest != nullptr) list.rest = pattern(*l->rest);
        for (const ast::Pattern* e : l->after) list.after.push_back(pattern(*e));
        return done(std::move(list));
    }
    if (const auto* r = std::get_if<ast::RecordPattern>(&p.node)) {
        pat::Record record;
        for (const ast::FieldPattern& f : r->fields) {
            Pattern* inner = f.pattern != nullptr ? pattern(*f.pattern) : arena_.make<Pattern>(f.span, pat::Variable{f.name}, nullptr);
            record.fields.push_back({f.name, inner, f.optional, nullptr});
        }
        if (r->base != nullptr) record.base = pattern(*r->base);
        return done(std::move(record));
    }
    return done(pat::Wildcard{});
}

}  // namespace castile::lang
