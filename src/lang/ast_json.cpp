// The surface tree as JSON.
#include <charconv>

#include <fmt/format.h>

#include "lang/parse.h"
#include "lang/parser.h"

namespace castile::lang {

namespace {

template <class... F> struct Overload : F... { using F::operator()...; };
template <class... F> Overload(F...) -> Overload<F...>;  // clang needs it spelt out

constexpr unsigned max_depth = 2000;

/// Writes objects and arrays; the caller closes what it opens.
class Json {
public:
    void open(char bracket) {
        separate();
        out_ += bracket;
        first_ = true;
    }
    void close(char bracket) {
        out_ += bracket;
        first_ = false;
    }
    void key(std::string_view name) {
        string(name);
        out_ += ':';
        first_ = true;
    }
    void string(std::string_view text) {
        separate();
        out_ += '"';
        for (const char c : text) {
            if (c == '"' || c == '\\') {
                out_ += '\\';
                out_ += c;
            } else if (static_cast<unsigned char>(c) < 0x20) {
                out_ += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
            } else {
                out_ += c;
            }
        }
        out_ += '"';
    }
    void raw(std::string_view text) {
        separate();
        out_ += text;
    }
    void next_line() {
        separate();
        out_ += '\n';
        first_ = true;
    }
    void end_lines() { out_ += '\n'; }
    std::string take() { return std::move(out_); }

private:
    void separate() {
        if (!first_) out_ += ',';
        first_ = false;
    }
    std::string out_;
    bool first_ = true;
};

class Printer {
public:
    explicit Printer(bool spans) : spans_(spans) {}

    std::string program(const ast::Program& p) {
        json_.open('[');
        for (const ast::Statement& s : p.block->statements) {
            json_.next_line();
            statement(s);
        }
        json_.end_lines();
        json_.close(']');
        return json_.take();
    }

private:
    void begin(std::string_view type, Span span) {
        json_.open('{');
        json_.key("type");
        json_.string(type);
        if (!spans_) return;
        json_.key("span");
        json_.raw(fmt::format("[{},{}]", span.begin, span.end));
    }
    void text(std::string_view key, std::string_view value) {
        json_.key(key);
        json_.string(value);
    }
    void flag(std::string_view key, bool value) {
        if (!value) return;
        json_.key(key);
        json_.raw("true");
    }
    void names(std::string_view key, const std::vector<Name>& values) {
        json_.key(key);
        json_.open('[');
        for (const Name n : values) json_.string(n.view());
        json_.close(']');
    }
    template <class List, class Each> void array(std::string_view key, const List& list, Each each) {
        json_.key(key);
        json_.open('[');
        for (const auto& item : list) each(item);
        json_.close(']');
    }
    void child(std::string_view key, const ast::Expr* e) {
        if (e == nullptr) return;
        json_.key(key);
        expression(*e);
    }
    void child(std::string_view key, const ast::Pattern* p) {
        if (p == nullptr) return;
        json_.key(key);
        pattern(*p);
    }
    void child(std::string_view key, const ast::Block* b) {
        if (b == nullptr) return;
        array(key, b->statements, [&](const ast::Statement& s) { statement(s); });
    }
    void child(std::string_view key, const TypeExpr* t) {
        if (t == nullptr) return;
        json_.key(key);
        type(*t);
    }

    void statement(const ast::Statement& s) {
        if (const auto* e = std::get_if<ast::Evaluate>(&s.node)) {
            expression(*e->value);
        } else if (const auto* o = std::get_if<ast::Open>(&s.node)) {
            begin("open", s.span);
            child("value", o->value);
            json_.close('}');
        } else if (const auto* i = std::get_if<ast::Include>(&s.node)) {
            begin(i->kind == ast::Include::Kind::file ? "include" : i->kind == ast::Include::Kind::extra ? "include_extra" : "include_library", s.span);
            text("name", i->name);
            json_.close('}');
        } else {
            const auto& b = std::get<ast::Binding>(s.node);
            begin(b.kind == ast::BindingKind::def ? "def" : b.kind == ast::BindingKind::let ? "let" : "binding", s.span);
            if (!b.decoration.empty()) text("decoration", b.decoration);
            if (!b.options.empty()) array("options", b.options, [&](const ast::Argument& a) { argument(a); });
            child("pattern", b.pattern);
            child("annotation", b.type);
            if (b.params) array("parameters", *b.params, [&](const ast::Param& p) { param(p); });
            child("value", b.value);
            child("body", b.body);
            json_.close('}');
        }
    }

    void argsof(const ast::Argsof& a) {
        begin("argsof", a.span);
        text("function", a.function.view());
        if (!a.only.empty()) names("only", a.only);
        if (!a.except.empty()) names("except", a.except);
        json_.close('}');
    }

    void argument(const ast::Argument& a) {
        if (a.argsof) return argsof(*a.argsof);
        json_.open('{');
        if (!a.label.empty()) text("label", a.label.view());
        child("value", a.value);
        json_.close('}');
    }

    void param(const ast::Param& p) {
        if (p.argsof) return argsof(*p.argsof);
        json_.open('{');
        if (!p.label.empty()) text("label", p.label.view());
        child("pattern", p.pattern);
        child("annotation", p.type);
        child("default", p.default_value);
        json_.close('}');
    }

    void pattern(const ast::Pattern& p) {
        std::visit(Overload{
                       [&](const ast::VariablePattern& n) {
                           begin("variable", p.span);
                           if (n.path.size() == 1) {
                               text("name", n.path[0].view());
                           } else {
                               names("path", n.path);
                           }
                       },
                       [&](const ast::WildcardPattern&) { begin("wildcard", p.span); },
                       [&](const ast::TuplePattern& n) {
                           begin("tuple", p.span);
                           array("elements", n.elements, [&](const ast::Pattern* e) { pattern(*e); });
                       },
                       [&](const ast::ListPattern& n) {
                           begin("list", p.span);
                           array("before", n.before, [&](const ast::Pattern* e) { pattern(*e); });
                           child("rest", n.rest);
                           array("after", n.after, [&](const ast::Pattern* e) { pattern(*e); });
                       },
                       [&](const ast::RecordPattern& n) {
                           begin("record", p.span);
                           child(n.spread ? "rest" : "base", n.base);
                           array("fields", n.fields, [&](const ast::FieldPattern& f) {
                               json_.open('{');
                               text("name", f.name.view());
                               flag("optional", f.optional);
                               child("pattern", f.pattern);
                               json_.close('}');
                           });
                       },
                   },
                   p.node);
        json_.close('}');
    }

    void number(double value) {
        char buffer[40];
        const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
        json_.raw({buffer, end});
    }

    void time(std::string_view key, const TimePoint& t) {
        json_.key(key);
        json_.open('{');
        const auto part = [&](std::string_view name, const std::optional<std::int64_t>& value) {
            if (!value) return;
            json_.key(name);
            json_.raw(std::to_string(*value));
        };
        part("day", t.day);
        part("hours", t.hours);
        part("minutes", t.minutes);
        part("seconds", t.seconds);
        json_.close('}');
    }

    void expression(const ast::Expr& e);
    void type(const TypeExpr& t);
    void method(const texpr::Method& m) {
        json_.open('{');
        text("name", m.name.view());
        if (!m.json_name.empty()) text("json_name", m.json_name);
        flag("optional", m.optional);
        child("type", m.type);
        json_.close('}');
    }

    Json json_;
    bool spans_;
    unsigned depth_ = 0;
};

void Printer::expression(const ast::Expr& e) {
    if (++depth_ > max_depth) throw ScriptError({Severity::error, 3, e.span, "This is nested too deeply.", {}});
    const auto open = [&](std::string_view type) { begin(type, e.span); };
    std::visit(
        Overload{
            [&](const ast::Int& n) { open("int"); json_.key("value"); json_.raw(std::to_string(n.value)); },
            [&](const ast::Float& n) { open("float"); json_.key("value"); number(n.value); },
            [&](const ast::String& n) { open("string"); text("value", n.value); },
            [&](const ast::RawString& n) { open("raw_string"); text("id", n.id); text("value", n.value); },
            [&](const ast::Interpolation& n) {
                open("interpolation");
                array("parts", n.parts, [&](const ast::Part& p) {
                    if (p.value == nullptr) return json_.string(p.text);
                    expression(*p.value);
                });
            },
            [&](const ast::Regexp& n) { open("regexp"); text("pattern", n.pattern); text("flags", n.flags); },
            [&](const ast::Bool& n) { open("bool"); json_.key("value"); json_.raw(n.value ? "true" : "false"); },
            [&](const ast::Null&) { open("null"); },
            [&](const ast::Variable& n) { open("variable"); text("name", n.name.view()); },
            [&](const ast::Tuple& n) {
                open("tuple");
                array("elements", n.elements, [&](const ast::Expr* element) { expression(*element); });
            },
            [&](const ast::List& n) {
                open("list");
                array("items", n.items, [&](const ast::Item& item) {
                    if (!item.spread) return expression(*item.value);
                    json_.open('{');
                    child("spread", item.value);
                    json_.close('}');
                });
            },
            [&](const ast::Record& n) {
                open("record");
                child("base", n.base);
                array("fields", n.fields, [&](const ast::Field& f) {
                    json_.open('{');
                    if (!f.spread) text("name", f.name.view());
                    child(f.spread ? "spread" : "value", f.value);
                    json_.close('}');
                });
            },
            [&](const ast::Parens& n) { open("parenthesis"); child("value", n.value); },
            [&](const ast::Ascribe& n) { open("cast"); child("value", n.value); child("annotation", n.type); },
            [&](const ast::Begin& n) { open("begin"); child("block", n.block); },
            [&](const ast::Getter& n) { open("getter"); child("block", n.block); },
            [&](const ast::Function& n) {
                open("function");
                array("parameters", n.params, [&](const ast::Param& p) { param(p); });
                child("body", n.body);
            },
            [&](const ast::Call& n) {
                open("call");
                child("function", n.function);
                array("arguments", n.arguments, [&](const ast::Argument& a) { argument(a); });
            },
            [&](const ast::Index& n) { open("index"); child("base", n.base); child("key", n.key); },
            [&](const ast::Access& n) { open("access"); child("base", n.base); text("name", n.name.view()); flag("optional", n.optional); },
            [&](const ast::Unary& n) { open("unary"); text("operator", n.op.view()); child("operand", n.operand); },
            [&](const ast::Binary& n) { open("binary"); text("operator", n.op.view()); child("left", n.left); child("right", n.right); },
            [&](const ast::Ternary& n) { open("choice"); child("condition", n.condition); child("then", n.then); child("else", n.otherwise); },
            [&](const ast::If& n) {
                open("if");
                array("branches", n.branches, [&](const ast::Branch& b) {
                    json_.open('{');
                    child("condition", b.condition);
                    child("then", b.then);
                    json_.close('}');
                });
                child("else", n.otherwise);
            },
            [&](const ast::While& n) { open("while"); child("condition", n.condition); child("body", n.body); },
            [&](const ast::For& n) { open("for"); child("variable", n.variable); child("from", n.from); child("to", n.to); child("body", n.body); },
            [&](const ast::ForEach& n) { open("for_each"); child("variable", n.variable); child("iterator", n.iterator); child("body", n.body); },
            [&](const ast::Try& n) {
                open("try");
                child("body", n.body);
                child("error", n.error);
                child("errors", n.errors);
                child("catch", n.handler);
                child("finally", n.finally);
            },
            [&](const ast::Encoder& n) {
                open("encoder");
                text("name", n.name.view());
                array("parameters", n.params, [&](const ast::EncoderParam& p) {
                    json_.open('{');
                    if (!p.label.empty()) text("label", p.label.view());
                    if (!p.word.empty()) text("word", p.word.view());
                    child("value", p.value);
                    child("encoder", p.encoder);
                    json_.close('}');
                });
            },
            [&](const ast::Time& n) {
                open("time");
                time("from", n.from);
                if (n.to) time("to", *n.to);
            },
            [&](const ast::StaticIf& n) {
                const ast::Condition& c = n.condition;
                open(c.kind == ast::Condition::Kind::defined ? "ifdef" : c.kind == ast::Condition::Kind::version ? "ifversion" : "ifencoder");
                flag("negated", c.negated);
                if (!c.op.empty()) text("operator", c.op);
                text("name", c.name);
                child("then", n.then);
                child("else", n.otherwise);
            },
        },
        e.node);
    json_.close('}');
    --depth_;
}

void Printer::type(const TypeExpr& t) {
    const auto open = [&](std::string_view type) { begin(type, t.span); };
    std::visit(Overload{
                   [&](const texpr::Named& n) { open("named"); text("name", n.name.view()); },
                   [&](const texpr::Variable& n) { open("variable"); text("name", n.name.view()); },
                   [&](const texpr::Wildcard&) { open("wildcard"); },
                   [&](const texpr::Apply& n) {
                       open("apply");
                       text("name", n.name.view());
                       array("arguments", n.args, [&](const texpr::ApplyArg& a) {
                           json_.open('{');
                           if (!a.label.empty()) text("label", a.label.view());
                           flag("optional", a.optional);
                           flag("rest", a.rest);
                           if (!a.literal.empty()) text("literal", a.literal);
                           child("type", a.type);
                           json_.close('}');
                       });
                   },
                   [&](const texpr::List& n) { open("list"); child("element", n.element); flag("json_object", n.json_object); },
                   [&](const texpr::Tuple& n) {
                       open("tuple");
                       array("elements", n.elements, [&](const TypeExpr* e) { type(*e); });
                   },
                   [&](const texpr::Nullable& n) { open("nullable"); child("of", n.type); },
                   [&](const texpr::Getter& n) { open("getter"); child("of", n.type); },
                   [&](const texpr::Arrow& n) {
                       open("function");
                       array("parameters", n.params, [&](const texpr::Param& p) {
                           json_.open('{');
                           if (!p.label.empty()) text("label", p.label.view());
                           flag("optional", p.optional);
                           child("type", p.type);
                           json_.close('}');
                       });
                       child("result", n.result);
                   },
                   [&](const texpr::Record& n) {
                       open("record");
                       child("base", n.base);
                       array("methods", n.methods, [&](const texpr::Method& m) { method(m); });
                   },
                   [&](const texpr::Argsof& n) { open("argsof"); text("function", n.function.view()); },
               },
               t.node);
    json_.close('}');
}

}  // namespace

std::string ast_json(std::uint32_t file, bool spans) {
    Arena tree;
    std::vector<Diagnostic> warnings;
    const ast::Program program = Parser(tree, tree, file, warnings).program();
    return ast_json(program, spans);
}

std::string ast_json(const ast::Program& program, bool spans) { return Printer(spans).program(program); }

}  // namespace castile::lang
