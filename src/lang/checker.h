#pragma once
// The checker's state while it walks one term; check.h is the interface.

#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lang/environment.h"

namespace castile::lang {

class Checker {
public:
    /// Adds to `warnings`, whatever happens.
    Checker(Arena& arena, TypeEnvironment::Impl& environment, CheckRole role, std::vector<Diagnostic>& warnings)
        : arena_(arena), env_(environment), pool_(environment.pool), role_(role), warnings_(warnings), first_warning_(warnings.size()) {}

    Type* run(Term* term);      ///< the whole program. Throws ScriptError; the environment is then as it was.

private:
    // check.cpp: variables and scopes
    bool warns() const { return role_ == CheckRole::script; }
    TypeNode* make_node(bool top) { return top ? env_.make_node() : &local_nodes_.emplace_back(); }
    TypeNode* lookup(Name name) const;
    TypeNode* lookup_or_fail(Name name, Span span);
    void use(TypeNode* node, Span span);
    void tell_override(Name name, Span span);
    void bind(Name name, TypeNode* node, bool top);
    TypeNode* bind_variable(Name name, Scheme scheme, Span span, bool top);
    void leave(std::size_t mark);
    void tell_unused(const TypeNode& node);
    void roll_back();
    [[noreturn]] void fail(int code, Span span, std::string message) const;
    [[noreturn]] void fail_type(Span span) const;
    void explain(Diagnostic& d) const;
    void warn(int code, Span span, std::string message);
    Type* fresh() { return pool_.variable(level_); }
    /// While it lives, an error of types says that the value is to be like the one at that place.
    struct Beside {
        Beside(Checker& c, Span span) : checker(c), before(std::exchange(c.beside_, span)) {}
        ~Beside() { checker.beside_ = before; }
        Checker& checker;
        const Span before;
    };
    bool subtype(Type* a, Type* b, Span span);
    void require(Term*& term, Type* expected);     ///< term->type <: expected; inserts a cast
    Type* ascribed(const TypeExpr* annotation, Span span);

    // check_term.cpp
    Type* infer(Term* term);
    Type* infer_block(Term* term, bool top);
    Type* infer_node(Term& term);
    void check_ignored(const Term& term);
    Type* on(Term&, term::Int&) { return pool_.integer(); }
    Type* on(Term&, term::Float&) { return pool_.floating(); }
    Type* on(Term&, term::String&) { return pool_.string(); }
    Type* on(Term&, term::Bool&) { return pool_.boolean(); }
    Type* on(Term&, term::Null&) { return pool_.nullable(fresh()); }
    Type* on(Term&, term::Variable&);
    Type* on(Term&, term::Tuple&);
    Type* on(Term&, term::List&);
    Type* on(Term&, term::Function&);
    Type* on(Term&, term::Apply&);
    Type* on(Term& t, term::Let&) { return infer_block(&t, false); }
    Type* on(Term&, term::Decode&);
    Type* on(Term& t, term::Sequence&) { return infer_block(&t, false); }
    Type* on(Term&, term::Methods&);
    Type* on(Term&, term::Invoke&);
    Type* on(Term& t, term::Open&) { return infer_block(&t, false); }
    Type* on(Term&, term::Coalesce&);
    Type* on(Term&, term::And&);
    Type* on(Term&, term::Or&);
    Type* on(Term&, term::If&);
    Type* on(Term&, term::While&);
    Type* on(Term&, term::For&);
    Type* on(Term&, term::ForIn&);
    Type* on(Term&, term::Try&);
    Type* on(Term&, term::Ascribe&);
    Type* on(Term&, term::ToFloat&);
    Type* on(Term&, term::Encoder&);
    void check_encoder_params(term::Encoder& encoder);
    void open(Term& record, bool top);

    // check_call.cpp
    Type* infer_function(Term& term, term::Function& function, TypeNode* self);
    void expand_argsof(Span span, term::Function& function, std::vector<Type*>& known);
    void expand_arguments(Span span, term::Apply& apply);
    std::vector<std::pair<TypeParam, Term*>> params_of(Name function, const std::vector<Name>& only, const std::vector<Name>& except,
                                                       Span span, bool defaults);
    Term* default_of(TypeNode* node, Name function, Name label, Span span);
    bool may_lack_a_field(const Term* value, Type* wanted);
    TypeNode* path_node(Term* term);
    void mend_old_arguments(term::Apply& apply);
    Type* method_type(Type* base, Name method, bool optional, Span span);
    [[noreturn]] void fail_method(Type* base, TypeNode* module, Name method, Span span);

    // check_let.cpp
    struct Bound { Name name; Type* type; Span span; };
    void infer_let(Term& term, term::Let& let, bool top);
    void bind_path(Term& term, term::Let& let, const Scheme& scheme, bool top, const term::Function* function);
    void collect(Pattern* pattern, Type* type, std::vector<Bound>& bound);
    bool is_value(const Term* term) const;
    Type* hide(Type* type, const std::vector<Name>& names);

    static constexpr int max_depth = 3000;

    Arena& arena_;
    TypeEnvironment::Impl& env_;
    TypePool& pool_;
    CheckRole role_;
    std::deque<TypeNode> local_nodes_;
    std::vector<Diagnostic>& warnings_;
    std::size_t first_warning_;
    std::unordered_map<Name, TypeNode*> locals_;
    std::vector<std::pair<Name, TypeNode*>> scope_;         ///< bound locals and what they hid
    struct Change { TypeNode* parent; Name name; TypeNode* old; };
    std::vector<Change> changes_;                           ///< of globals, to be undone by an error
    std::vector<TypeNode*> top_;                            ///< top-level variables of this program
    int level_ = 0, depth_ = 0;
    struct Passed { const Term* function = nullptr; const Term* value = nullptr; Name label; std::uint32_t position = 0; Span span; };
    Span beside_;                                           ///< what the value being compared must be like, for messages
    Passed passed_;                                         ///< the argument whose type is being compared, for messages
};

/// "list.map" of a path of variables; empty when it is none.
std::string dotted_path(const Term* term);
/// A deep copy, so that two functions can hold the same default.
Term* copy_term(Arena& arena, const Term* term);

}  // namespace castile::lang
