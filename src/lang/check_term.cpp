// The types of terms, one rule a node.
#include <algorithm>

#include "lang/checker.h"

namespace castile::lang {

Type* Checker::infer(Term* term) {
    if (++depth_ > max_depth) fail(5, term->span, "This expression is nested too deeply.");
    try {
        term->type = infer_node(*term);
        freeze(term->type);
    } catch (const TypeTooComplex& error) {
        fail(5, term->span, error.what());
    }
    --depth_;
    return term->type;
}

Type* Checker::infer_node(Term& term) {
    return std::visit([&](auto& node) { return on(term, node); }, term.node);
}

// Along Let::body, Sequence::second and Open::body a program is as long as it likes: no recursion there.
Type* Checker::infer_block(Term* term, bool top) {
    const std::size_t mark = scope_.size();
    std::vector<Term*> spine;
    Type* result = nullptr;
    while (!result) {
        if (auto* let = std::get_if<term::Let>(&term->node)) {
            try {
                infer_let(*term, *let, top);
            } catch (const TypeTooComplex& error) {
                fail(5, let->value->span, error.what());
            }
            spine.push_back(term);
            if (!let->body) result = pool_.unit();
            term = let->body;
        } else if (auto* sequence = std::get_if<term::Sequence>(&term->node)) {
            infer(sequence->first);
            check_ignored(*sequence->first);
            spine.push_back(term);
            term = sequence->second;
        } else if (auto* opening = std::get_if<term::Open>(&term->node)) {
            open(*opening->record, top);
            spine.push_back(term);
            term = opening->body;
        } else {
            result = infer(term);
        }
    }
    for (Term* t : spine) t->type = result;
    leave(mark);
    return result;
}

void Checker::check_ignored(const Term& term) {
    static const Name source("source");
    const Type* t = without_methods(term.type);
    if (is_unit(t) || t->kind == TypeKind::variable || !warns()) return;
    if (t->kind == TypeKind::arrow) {
        std::string type = print_type(term.type);
        if (type.size() > 200) type = type.substr(0, 200) + "...";
        warn(1, term.span, "Trying to ignore a function, which is of type " + type + ". Did you forget to apply it to arguments?");
    } else if (t->kind == TypeKind::constructor && t->name == source) {
        warn(2, term.span, "This source is unused, maybe it needs to be connected to an output.");
    } else {
        warn(3, term.span,
             "This expression is returning a value that is ignored. Do you need to use its return value? If not, you can use the "
             "`ignore()` operator.");
    }
}

Type* Checker::on(Term& term, term::Variable& variable) {
    TypeNode* node = lookup_or_fail(variable.name, term.span);
    use(node, term.span);
    return pool_.instantiate(env_.whole(node), level_);
}

Type* Checker::on(Term&, term::Tuple& tuple) {
    std::vector<Type*> elements;
    elements.reserve(tuple.elements.size());
    for (Term* e : tuple.elements) elements.push_back(infer(e));
    return pool_.tuple(elements);
}

Type* Checker::on(Term&, term::List& list) {
    Type* element = fresh();
    for (const term::ListItem& item : list.items) infer(item.value);
    Type* type = pool_.list(element);
    Span first;   // that says what the others are like
    for (term::ListItem& item : list.items) {
        const Beside beside(*this, first);
        require(item.value, item.spread ? type : element);
        if (!first.file && !std::holds_alternative<term::Null>(item.value->node)) first = item.value->span;
    }
    return type;
}

Type* Checker::on(Term& term, term::Function& function) { return infer_function(term, function, nullptr); }

// What a decoder gives is what the uses of its result want: a variable that inference fills.
Type* Checker::on(Term&, term::Decode& decode) {
    static const Name query("sqlite.query"), row("sqlite.row");
    for (term::Argument& a : decode.options) infer(a.value);
    infer(decode.input);
    if (decode.decoder != query && decode.decoder != row) require(decode.input, pool_.string());
    return decode.decoder == query ? pool_.list(fresh()) : fresh();
}

Type* Checker::on(Term&, term::Methods& methods) {
    Type* base = methods.base ? infer(methods.base) : pool_.unit();
    std::vector<TypeField> fields;
    for (term::MethodValue& m : methods.methods) {
        infer(m.value);
        std::erase_if(fields, [&](const TypeField& f) { return f.name == m.name; });
        fields.push_back({m.name, m.value->type});
    }
    if (!methods.spread) return pool_.record(fields, base);
    Type* spread = infer(methods.spread);
    std::vector<const TypeField*> over;
    split_methods(spread, over);
    const auto has = [](const auto& all, Name name) {
        return std::any_of(all.begin(), all.end(), [&](const TypeField& f) { return f.name == name; });
    };
    std::vector<TypeField> all;
    for (const TypeField* f : over)
        if (!f->optional || !has(fields, f->name)) all.push_back(*f);
    for (const TypeField& f : fields)
        if (!has(all, f.name)) all.push_back(f);
    return pool_.record(all, base);
}

Type* Checker::on(Term&, term::Coalesce& coalesce) {
    Type* value = infer(coalesce.value);
    infer(coalesce.otherwise);
    Type* result = fresh();
    if (!subtype(value, pool_.nullable(result), coalesce.value->span)) fail_type(coalesce.value->span);
    const Beside beside(*this, coalesce.value->span);
    require(coalesce.otherwise, result);
    return result;
}

Type* Checker::on(Term&, term::And& both) {
    infer(both.left);
    infer(both.right);
    require(both.left, pool_.boolean());
    require(both.right, pool_.boolean());
    return pool_.boolean();
}

Type* Checker::on(Term&, term::Or& either) {
    infer(either.left);
    infer(either.right);
    require(either.left, pool_.boolean());
    require(either.right, pool_.boolean());
    return pool_.boolean();
}

Type* Checker::on(Term&, term::If& choice) {
    infer(choice.condition);
    require(choice.condition, pool_.boolean());
    infer(choice.then);
    infer(choice.otherwise);
    Type* result = fresh();
    // Numbers of both kinds in the two branches are refused, not cast.
    if (!subtype(choice.then->type, result, choice.then->span)) fail_type(choice.then->span);
    const Beside beside(*this, choice.then->span);
    if (!subtype(choice.otherwise->type, result, choice.otherwise->span)) fail_type(choice.otherwise->span);
    return result;
}

Type* Checker::on(Term&, term::While& loop) {
    infer(loop.condition);
    require(loop.condition, pool_.getter(pool_.boolean()));
    infer(loop.body);
    require(loop.body, pool_.unit());
    return pool_.unit();
}

Type* Checker::on(Term&, term::For& loop) {
    infer(loop.from);
    require(loop.from, pool_.integer());
    infer(loop.to);
    require(loop.to, pool_.integer());
    const std::size_t mark = scope_.size();
    std::vector<Bound> bound;
    collect(loop.variable, pool_.integer(), bound);
    for (const Bound& b : bound) bind_variable(b.name, {b.type}, b.span, false);
    infer(loop.body);
    require(loop.body, pool_.unit());
    leave(mark);
    return pool_.unit();
}

Type* Checker::on(Term&, term::ForIn& loop) {
    infer(loop.iterator);
    Type* element = fresh();
    require(loop.iterator, pool_.arrow({}, pool_.nullable(element)));
    const std::size_t mark = scope_.size();
    std::vector<Bound> bound;
    collect(loop.variable, element, bound);
    for (const Bound& b : bound) bind_variable(b.name, {b.type}, b.span, false);
    infer(loop.body);
    require(loop.body, pool_.unit());
    leave(mark);
    return pool_.unit();
}

Type* Checker::on(Term&, term::Try& attempt) {
    static const Name error("error");
    Type* result = infer(attempt.body);
    if (attempt.errors) {
        infer(attempt.errors);
        require(attempt.errors, pool_.nullable(pool_.list(pool_.constructor(error))));
    }
    if (attempt.handler) {
        const std::size_t mark = scope_.size();
        std::vector<Bound> bound;
        if (attempt.error) collect(attempt.error, pool_.constructor(error), bound);
        for (const Bound& b : bound) bind_variable(b.name, {b.type}, b.span, false);
        infer(attempt.handler);
        leave(mark);
        result = fresh();
        require(attempt.body, result);
        const Beside beside(*this, attempt.body->span);
        require(attempt.handler, result);
    }
    if (attempt.finally) {
        infer(attempt.finally);
        require(attempt.finally, pool_.unit());
    }
    return result;
}

Type* Checker::on(Term&, term::Ascribe& ascription) {
    infer(ascription.value);
    Type* type = ascribed(ascription.type, ascription.value->span);
    require(ascription.value, type);
    return type;
}

Type* Checker::on(Term&, term::ToFloat& cast) {
    infer(cast.value);
    require(cast.value, pool_.floating());
    return pool_.floating();
}

void Checker::check_encoder_params(term::Encoder& encoder) {
    for (term::EncoderParam& p : encoder.params) {
        if (p.value) infer(p.value);
        if (p.encoder)
            if (auto* nested = std::get_if<term::Encoder>(&p.encoder->node)) check_encoder_params(*nested);
    }
}

Type* Checker::on(Term& term, term::Encoder& encoder) {
    check_encoder_params(encoder);
    if (!env_.encoder_typer) fail(12, term.span, "Unsupported encoder: %" + encoder.name.str() + ".");
    const std::string text = env_.encoder_typer(encoder, term.span);
    const auto [at, added] = env_.encoder_types.try_emplace(text);
    if (added) at->second = env_.reader.declaration(text);
    return pool_.instantiate(at->second, level_);
}

void Checker::open(Term& record, bool top) {
    if (TypeNode* node = path_node(&record)) {
        use(node, record.span);
        std::vector<std::pair<Name, TypeNode*>> children;
        env_.children_of(node, children);
        std::vector<const TypeField*> fields;
        if (env_.own(node).type) split_methods(pool_.instantiate(env_.own(node), level_), fields);
        record.type = pool_.unit();
        for (const TypeField* f : fields) {
            TypeNode* member = make_node(top);
            member->own = {f->type, f->quantified_count, f->quantified};
            member->span = record.span;
            bind(f->name, member, top);
        }
        for (const auto& [name, below] : children) {
            TypeNode* member = make_node(top);
            *member = *below;
            member->library = member->tell_unused = false;
            member->span = record.span;
            bind(name, member, top);
        }
        return;
    }
    infer(&record);
    std::vector<const TypeField*> fields;
    Type* below = split_methods(record.type, fields);
    if (!subtype(below, pool_.unit(), record.span)) fail_type(record.span);
    for (const TypeField* f : fields) {
        TypeNode* member = make_node(top);
        member->own = {f->type, f->quantified_count, f->quantified};
        member->span = record.span;
        bind(f->name, member, top);
    }
}

}  // namespace castile::lang
