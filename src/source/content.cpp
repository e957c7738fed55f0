// What the tracks of connected sources hold, agreed before they start: a union-find of fields and formats.

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "source/source.h"

namespace castile {

class ContentVariable {
public:
    ContentPtr parent;
    std::size_t members = 1;  ///< of a root: how many variables it stands for
    std::map<Name, ContentFormat> fields;
    struct Link { Name ours; std::weak_ptr<ContentVariable> other; Name theirs; };
    std::vector<Link> links;  ///< fields that another variable's field follows, and the other way round
    bool closed = false;  ///< no other fields
};

namespace {

std::mutex content_mutex;  // guards every variable

const ContentPtr& root_of(const ContentPtr& c) {
    const ContentPtr* root = &c;
    while ((*root)->parent) root = &(*root)->parent;
    return *root;
}

// Whoever was on the way points to the root from now on: what stood between is kept by nobody.
ContentVariable& find(const ContentPtr& c) {
    const ContentPtr root = root_of(c);
    for (ContentPtr at = c; at->parent && at->parent != root;) at = std::exchange(at->parent, root);
    return *root;
}

std::string describe(const ContentFormat& f) {
    switch (f.kind) {
        case ContentFormat::Kind::any: return "anything";
        case ContentFormat::Kind::none: return "nothing";
        case ContentFormat::Kind::packets: return "encoded packets";
        case ContentFormat::Kind::pcm: break;
    }
    if (f.channels == 0) return "pcm";
    return f.channels == 1 ? "pcm(mono)" : f.channels == 2 ? "pcm(stereo)" : fmt::format("pcm({} channels)", f.channels);
}

// `any` and `none` (a track that a format leaves unused) ask for nothing.
ContentFormat meet(Name field, const ContentFormat& a, const ContentFormat& b) {
    const auto open = [](const ContentFormat& f) { return f.kind == ContentFormat::Kind::any || f.kind == ContentFormat::Kind::none; };
    if (open(a)) return open(b) && a.kind == ContentFormat::Kind::none ? a : b;
    if (open(b)) return a;
    if (a.kind == b.kind && (a.channels == b.channels || a.channels == 0 || b.channels == 0)) return a.channels ? a : b;
    throw Error(fmt::format("The track \"{}\" cannot be both {} and {}.", field.str(), describe(a), describe(b)));
}

void require(ContentVariable& v, Name field, const ContentFormat& f) {
    const auto found = v.fields.find(field);
    if (found == v.fields.end()) {
        if (v.closed) throw Error(fmt::format("The source has no track \"{}\".", field.str()));
        v.fields.emplace(field, f);
    } else {
        const ContentFormat met = meet(field, found->second, f);
        if (met == found->second) return;
        found->second = met;
    }
    for (std::size_t i = 0; i < v.links.size(); ++i)  // ends: each step makes a format narrower
        if (v.links[i].ours == field)
            if (const ContentPtr other = v.links[i].other.lock()) require(find(other), v.links[i].theirs, v.fields.at(field));
}

}  // namespace

ContentPtr make_content() { return std::make_shared<ContentVariable>(); }

void unify_content(const ContentPtr& a, const ContentPtr& b) {
    std::lock_guard lock(content_mutex);
    ContentVariable &to = find(a), &from = find(b);
    if (&to == &from) return;
    for (const auto& [field, format] : from.fields) require(to, field, format);
    if (from.closed) {
        for (const auto& [field, format] : to.fields)
            if (!from.fields.contains(field)) throw Error(fmt::format("The source has no track \"{}\".", field.str()));
        to.closed = true;
    }
    from.fields.clear();
    to.links.insert(to.links.end(), from.links.begin(), from.links.end());
    from.links.clear();
    std::erase_if(to.links, [](const ContentVariable::Link& link) { return link.other.expired(); });
    to.members += from.members;
    // The larger group's root stays: sources that come and go at run time hang below it, and take nothing with them but themselves.
    if (2 * from.members > to.members) {
        from.fields.swap(to.fields);
        from.links.swap(to.links);
        from.closed = to.closed;
        from.members = to.members;
        to.parent = root_of(b);
    } else {
        from.parent = root_of(a);
    }
    ContentVariable& joined = find(a);
    for (const ContentVariable::Link& link : std::vector(joined.links))
        if (const auto found = joined.fields.find(link.ours); found != joined.fields.end())
            if (const ContentPtr other = link.other.lock()) require(find(other), link.theirs, found->second);
}

void require_content(const ContentPtr& c, Name field, ContentFormat f) {
    std::lock_guard lock(content_mutex);
    require(find(c), field, f);
}

void link_content(const ContentPtr& a, Name field_of_a, const ContentPtr& b, Name field_of_b) {
    std::lock_guard lock(content_mutex);
    ContentVariable &first = find(a), &second = find(b);
    first.links.push_back({field_of_a, b, field_of_b});
    second.links.push_back({field_of_b, a, field_of_a});
    const auto known = [](const ContentVariable& v, Name field) {
        const auto found = v.fields.find(field);
        return found == v.fields.end() ? ContentFormat{} : found->second;
    };
    const ContentFormat ours = known(first, field_of_a), theirs = known(second, field_of_b);
    require(second, field_of_b, ours);
    require(first, field_of_a, theirs);
}

void forbid_other_fields(const ContentPtr& c) {
    std::lock_guard lock(content_mutex);
    find(c).closed = true;
}

ContentFormat content_format(const ContentPtr& c, Name field) {
    std::lock_guard lock(content_mutex);
    const ContentVariable& v = find(c);
    const auto found = v.fields.find(field);
    ContentFormat format = found == v.fields.end() ? ContentFormat{} : found->second;
    if (format.kind == ContentFormat::Kind::any && field == Name("audio")) format.kind = ContentFormat::Kind::pcm;
    if (format.kind == ContentFormat::Kind::pcm && format.channels == 0) format.channels = stream_parameters().channels;
    return format;
}

std::vector<Name> content_fields(const ContentPtr& c) {
    std::lock_guard lock(content_mutex);
    std::vector<Name> names;
    for (const auto& [field, format] : find(c).fields) names.push_back(field);
    return names;
}

}  // namespace castile
