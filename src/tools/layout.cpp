#include "tools/layout.h"

#include <algorithm>
#include <utility>

namespace castile::tools {

DocPtr Docs::nothing() { return arena_.make<Doc>(DocKind::text); }

DocPtr Docs::text(std::string_view text) {
    const bool lines = text.find('\n') != std::string_view::npos;
    return arena_.make<Doc>(lines ? DocKind::verbatim : DocKind::text, false, false, text);
}

DocPtr Docs::space() { return arena_.make<Doc>(DocKind::space); }

DocPtr Docs::end_of_line(DocKind kind, std::string_view flat, bool blank) {
    return arena_.make<Doc>(kind, kind != DocKind::line, blank, flat);
}

DocPtr Docs::suffix(std::string_view comment) { return arena_.make<Doc>(DocKind::suffix, false, false, comment); }

DocPtr Docs::nest(DocPtr inner) { return arena_.make<Doc>(DocKind::nest, inner->forced, false, "", "", inner); }

DocPtr Docs::group(DocPtr inner, bool broken) { return arena_.make<Doc>(DocKind::group, inner->forced || broken, false, "", "", inner); }

DocPtr Docs::flat(DocPtr inner) { return arena_.make<Doc>(DocKind::flat, false, false, "", "", inner); }

DocPtr Docs::concat(std::vector<DocPtr> parts) {
    const bool forced = std::ranges::any_of(parts, [](DocPtr d) { return d->forced; });
    return arena_.make<Doc>(DocKind::concat, forced, false, "", "", nullptr, nullptr, std::move(parts));
}

DocPtr Docs::choice(DocPtr first, DocPtr second) {
    return arena_.make<Doc>(DocKind::choice, first->forced, false, "", "", first, second);
}

DocPtr Docs::if_broken(std::string_view broken, std::string_view flat) {
    return arena_.make<Doc>(DocKind::if_broken, false, false, flat, broken);
}

namespace {

std::size_t characters(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

class Printer {
public:
    Printer(std::size_t width, std::size_t indentation) : width_(width), indentation_(indentation) {}

    std::string print(DocPtr doc) {
        work_.push_back({doc, 0, true});
        while (!work_.empty()) {
            const Item item = work_.back();
            work_.pop_back();
            step(item);
        }
        if (!out_.empty() || !suffixes_.empty()) end_line();
        while (out_.ends_with("\n\n")) out_.pop_back();
        return out_ == "\n" ? "" : std::move(out_);
    }

private:
    struct Item {
        DocPtr doc;
        std::size_t level;
        bool broken;
    };

    void step(const Item& item) {
        const Doc& d = *item.doc;
        switch (d.kind) {
            case DocKind::text: write(d.text, item.level); break;
            case DocKind::verbatim:
                write(d.text, item.level);
                column_ = characters(d.text.substr(d.text.rfind('\n') + 1));
                break;
            case DocKind::space: space_ = !at_line_start_; break;
            case DocKind::line:
                if (item.broken) {
                    end_line();
                    if (d.blank) blank();
                } else if (!d.text.empty()) {
                    space_ = !at_line_start_;
                }
                break;
            case DocKind::hard:
                end_line();
                if (d.blank) blank();
                break;
            case DocKind::fresh:
                if (!at_line_start_ || !suffixes_.empty()) end_line();
                if (d.blank) blank();
                break;
            case DocKind::suffix: suffixes_.push_back({d.text, item.level}); break;
            case DocKind::nest: work_.push_back({d.first, item.level + 1, item.broken}); break;
            case DocKind::group: work_.push_back({d.first, item.level, d.forced || (item.broken && !fits(d.first, item.level, false))}); break;
            case DocKind::flat: work_.push_back({d.first, item.level, false}); break;
            case DocKind::concat:
                for (auto it = d.parts.rbegin(); it != d.parts.rend(); ++it) work_.push_back({*it, item.level, item.broken});
                break;
            case DocKind::choice:
                if (!d.forced && (!item.broken || fits(d.first, item.level, false))) {
                    work_.push_back({d.first, item.level, false});
                } else {
                    work_.push_back({fits(d.first, item.level, true) ? d.first : d.second, item.level, true});
                }
                break;
            case DocKind::if_broken:
                if (const std::string_view text = item.broken ? d.broken : d.text; !text.empty()) write(text, item.level);
                break;
        }
    }

    void write(std::string_view text, std::size_t level) {
        if (text.empty()) return;
        if (at_line_start_) {
            out_.append(level * indentation_, ' ');
            column_ = level * indentation_;
        } else if (space_) {
            out_ += ' ';
            ++column_;
        }
        at_line_start_ = space_ = false;
        out_ += text;
        column_ += characters(text);
    }

    void end_line() {
        bool ended = false;   // by a comment that goes on to the end of the line
        for (const auto& [comment, level] : suffixes_) {
            if (ended) {
                out_ += '\n';
                at_line_start_ = true;
            }
            out_.append(at_line_start_ ? level * indentation_ : 1, ' ');
            at_line_start_ = false;
            out_ += comment;
            ended = !comment.starts_with("#<");
        }
        suffixes_.clear();
        space_ = false;
        if (at_line_start_ && (out_.empty() || out_.ends_with('\n'))) return;
        out_ += '\n';
        at_line_start_ = true;
        column_ = 0;
    }

    void blank() {
        if (!out_.empty() && !out_.ends_with("\n\n")) out_ += '\n';
    }

    /// Does the document, and what follows it up to where its line may end, fit into what is left of the line?
    bool fits(DocPtr doc, std::size_t level, bool broken) {
        const std::size_t used = at_line_start_ ? level * indentation_ : column_ + (space_ ? 1 : 0);
        if (used > width_) return false;
        std::size_t left = width_ - used;
        bool space = false;
        bool comment = !suffixes_.empty();   // nothing may come between it and the end of the line
        // What follows is read from the work list, from its end.
        std::size_t rest = work_.size();
        probe_.assign(1, {doc, level, broken});
        const auto take = [&](std::size_t length) {
            if (comment) return false;
            if (space) ++length;
            space = false;
            if (length > left) return false;
            left -= length;
            return true;
        };
        while (!probe_.empty() || rest > 0) {
            Item item{};
            if (!probe_.empty()) {
                item = probe_.back();
                probe_.pop_back();
            } else {
                item = work_[--rest];
            }
            const Doc& d = *item.doc;
            switch (d.kind) {
                case DocKind::text:
                    if (!d.text.empty() && !take(characters(d.text))) return false;
                    break;
                case DocKind::verbatim: return take(characters(d.text.substr(0, d.text.find('\n'))));
                case DocKind::space: space = true; break;
                case DocKind::line:
                    if (item.broken) return true;
                    space = space || !d.text.empty();
                    break;
                case DocKind::hard:
                case DocKind::fresh: return true;
                case DocKind::suffix: comment = true; break;
                case DocKind::nest: probe_.push_back({d.first, item.level + 1, item.broken}); break;
                case DocKind::group: probe_.push_back({d.first, item.level, item.broken || d.forced}); break;
                case DocKind::flat: probe_.push_back({d.first, item.level, false}); break;
                case DocKind::concat:
                    for (auto it = d.parts.rbegin(); it != d.parts.rend(); ++it) probe_.push_back({*it, item.level, item.broken});
                    break;
                case DocKind::choice: probe_.push_back({d.first, item.level, item.broken || d.forced}); break;
                case DocKind::if_broken:
                    if (const std::string_view text = item.broken ? d.broken : d.text; !text.empty() && !take(characters(text))) return false;
                    break;
            }
        }
        return true;
    }

    std::size_t width_, indentation_;
    std::string out_;
    std::size_t column_ = 0;
    bool at_line_start_ = true, space_ = false;
    std::vector<std::pair<std::string_view, std::size_t>> suffixes_;   ///< and how deep they are
    std::vector<Item> work_, probe_;
};

}  // namespace

std::string print(DocPtr doc, std::size_t width, std::size_t indentation) { return Printer(width, indentation).print(doc); }

}  // namespace castile::tools
