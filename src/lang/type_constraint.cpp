#include "lang/type_constraint.h"

#include "lang/type.h"

namespace castile::lang {

namespace {

struct Words {
    std::uint16_t bit;
    std::string_view text;
};
// In the order in which they are told apart: a longer text before what it contains.
constexpr Words all_words[] = {
    {constraint_number, "a number type"},
    {constraint_orderable, "an orderable type"},
    {constraint_record, "a record type"},
    {constraint_internal_tracks, "a set of internal tracks"},
    {constraint_muxed_tracks, "a set of tracks to be muxed into a source"},
    {constraint_internal_track, "a track of type: pcm, pcm_s16, pcm_f32, yuv420p, metadata or track_marks"},
    {constraint_pcm_track, "a track of type: pcm, pcm_s16 or pcm_f32"},
    {constraint_track, "a track"},
    {constraint_setting, "unit, bool, int, float, string or [string]"},
    {constraint_cell, "int, float, string or null"},
    {constraint_row, "a record with int, float, string or null methods"},
};

bool take(std::string& text, std::string_view words) {
    const auto at = text.find(words);
    if (at == std::string::npos) return false;
    text.erase(at, words.size());
    return true;
}

}  // namespace

std::uint16_t parse_constraints(std::string_view text) {
    std::string rest(text);
    std::uint16_t bits = 0;
    auto add = [&](std::string_view words, std::uint16_t bit) {
        if (take(rest, words)) bits |= bit;
    };
    for (const Words& w : all_words)
        if (w.bit != constraint_track) add(w.text, w.bit);
    add("a track of type: pcm, pcm_s16, pcm_f32, canvas, metadata or track_marks", constraint_internal_track);
    add("a track", constraint_track);
    // Short forms of annotations.
    add("internal tracks", constraint_internal_tracks);
    add("an internal media type", constraint_internal_tracks);
    add("internal media type", constraint_internal_tracks);
    add("orderable", constraint_orderable);
    add("comparable", constraint_orderable);
    add("number", constraint_number);
    add("internal type", constraint_internal_track);
    add("internal", constraint_internal_tracks);
    add("record", constraint_record);
    return bits;
}

std::string describe_constraints(std::uint16_t bits) {
    std::string result;
    for (const Words& w : all_words) {
        if (!(bits & w.bit)) continue;
        if (!result.empty()) result += " and ";
        result += w.text;
    }
    return result;
}

}  // namespace castile::lang
