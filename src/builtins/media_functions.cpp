// How files become music, in the hands of a script: parsers of lists, decoders, readers of metadata; what encoders make.

#include <cstdint>
#include <fstream>
#include <optional>
#include <string_view>

#include "base/log.h"
#include "builtins/define.h"
#include "codec/decoder.h"
#include "request/file_readers.h"
#include "request/playlist.h"
#include "request/protocol.h"
#include "request/request.h"
#include "sched/scheduler.h"
#include "script/values.h"

namespace castile::builtins {

namespace {

std::vector<std::string> to_texts(const Value& list) {
    std::vector<std::string> all;
    for (const Value& e : list.elements()) all.push_back(e.as_string());
    return all;
}

Value to_value(const Playlist& list) {
    std::vector<Value> entries;
    for (const PlaylistEntry& entry : list) {
        std::vector<std::pair<std::string, std::string>> metadata;
        for (const auto& [label, value] : entry.metadata) metadata.emplace_back(label, value);
        entries.push_back(pair(assoc(metadata), text(entry.uri)));
    }
    return Value::list(std::move(entries));
}

Playlist to_playlist(const Value& list) {
    Playlist found;
    for (const Value& e : list.elements()) {
        PlaylistEntry entry;
        for (const auto& [label, value] : to_assoc(e.elements()[0])) entry.metadata.emplace_back(label, value);
        entry.uri = e.elements()[1].as_string();
        found.push_back(std::move(entry));
        if (found.size() >= max_playlist_entries) break;
    }
    return found;
}

template <auto Parse, unsigned Text, unsigned Folder> Value parse(const BuiltinArgs& a) {
    return to_value(Parse(a[Text].as_string(), optional_text(a[Folder]).value_or("")));
}

Value register_parser(const BuiltinArgs& a) {
    Value f = a[3];
    add_playlist_parser({a[0].as_string(), to_texts(a[1]), a[2].as_bool(), [f](std::string_view content, const std::string& base) {
        const CallArgument arguments[] = {{"pwd", text(base)}, {"", text(std::string(content))}};
        return to_playlist(f.call(arguments));
    }});
    return Value();
}

/// The text of a list that is a file, or what a URI leads to.
Value list_text(const BuiltinArgs& a) { return text(locate_entry(optional_text(a[0]).value_or(""), a[1].as_string())); }

Value script_log(const std::string& label) {
    return native([label](std::span<const CallArgument> x) {
        if (log_enabled(LogLevel::info)) log_line(LogLevel::info, label, x[0].value.as_string());
        return Value();
    });
}

Value add_decoder(const BuiltinArgs& a) {
    enum : unsigned { name, description, is_static, mimes, extensions, function };
    if (a[extensions].elements().empty()) raise("invalid", "file_extensions should not be empty!");
    add_file_decoder({a[name].as_string(), a[description].as_string(), {to_texts(a[extensions]), to_texts(a[mimes])},
                      [f = a[is_static]](const std::string& path) { return f.call({text(path)}).as_bool(); },
                      [f = a[function], label = "decoder." + a[name].as_string()](const std::string& path, double timeout) -> std::optional<FileDecoder::Result> {
                          const CallArgument arguments[] = {{"rlog", script_log(label)}, {"maxtime", number(scheduler().time().wall() + timeout)}, {"", text(path)}};
                          const Value uri = f.call(arguments);
                          if (uri.is_null()) return std::nullopt;
                          const Value* temporary = uri.own_method("temporary");
                          return FileDecoder::Result{uri.as_string(), !temporary || temporary->as_bool()};
                      }});
    return Value();
}

Value add_reader(const BuiltinArgs& a) {
    enum : unsigned { priority, mimes, extensions, reentrant, name, function };
    FileKinds kinds;
    if (!a[extensions].is_null()) kinds.extensions = to_texts(a[extensions]);
    if (!a[mimes].is_null()) kinds.mimes = to_texts(a[mimes]);
    add_metadata_reader({a[name].as_string(), [p = a[priority]] { return static_cast<int>(p.get().as_int()); }, std::move(kinds), a[reentrant].as_bool(),
                         [f = a[function]](const Metadata& known, const std::string& path) {
                             const CallArgument arguments[] = {{"metadata", script::to_value(known)}, {"", text(path)}};
                             return script::metadata_from_value(f.call(arguments));
                         }});
    return Value();
}

/// The length of a file that begins as one of a kind does.
Value duration_of_kind(const BuiltinArgs& a, bool (*fits)(std::string_view head)) {
    enum : unsigned { resolve_metadata, metadata, timeout, uri };
    const RequestPtr request = Request::create(a[uri].as_string(), {.metadata = script::metadata_from_value(a[metadata]), .resolve_metadata = a[resolve_metadata].as_bool(),
                                                                    .cue_in_metadata = std::nullopt, .cue_out_metadata = std::nullopt});
    std::optional<double> seconds;
    if (request->resolve(a[timeout].is_null() ? default_request_timeout() : a[timeout].as_float())) {
        std::ifstream in(request->filename(), std::ios::binary);
        std::string head(64, '\0');
        in.read(head.data(), static_cast<std::streamsize>(head.size()));
        if (fits(head)) seconds = file_duration(request->filename());
    }
    request->destroy(true);
    return seconds ? number(*seconds) : Value::null();
}

bool any_file(std::string_view) { return true; }
bool flac_file(std::string_view head) { return head.starts_with("fLaC"); }
bool ogg_file(std::string_view head) { return head.starts_with("OggS"); }
bool mpeg_file(std::string_view head) { return head.starts_with("ID3") || (head.starts_with('\xff') && (head[1] & '\xe0') == '\xe0'); }
bool wav_file(std::string_view head) { return head.starts_with("RIFF") || head.starts_with("FORM"); }

const std::vector<BuiltinParam> duration_params{
    opt("resolve_metadata", "bool", "true", "Look at the tags too?"), opt("metadata", "[string * string]", "[]", "More metadata to look at."),
    opt("timeout", "float?", "null", "Seconds that resolving may take; null: `settings.request.timeout`."), pos("string", "The URI."),
};
const std::vector<BuiltinParam> list_params{pos("string", "Text of the list."), opt("pwd", "string?", "null", "Folder that relative entries are looked for in.")};
constexpr const char* entries = "[[string * string] * string]";

std::string name_of_list(const std::string& uri, const std::string& otherwise) {
    std::string s = uri;
    while (s.ends_with('/')) s.pop_back();
    s = s.substr(s.rfind('/') + 1);
    return s.empty() || s == "." ? otherwise : s;
}

const Definitions definitions("Liquidsoap", {
    {"playlist.parse.m3u", "The entries of an M3U list.", list_params, entries, parse<parse_m3u, 0, 1>},
    {"playlist.parse.scpls", "The entries of a PLS list.", list_params, entries, parse<parse_pls, 0, 1>},
    {"playlist.parse.xml", "The entries of an XSPF, ASX, SMIL or RSS list.", list_params, entries, parse<parse_xml_playlist, 0, 1>},
    {"playlist.parse.cue", "The tracks of a cue sheet.", {list_params[1], list_params[0]}, entries, parse<parse_cue_sheet, 1, 0>},
    {"playlist.parse.get_file", "An entry of a list as it is found: beside the list, if it is there.", {opt("pwd", "string?", "null", "Folder of the list."), pos("string", "The entry.")}, "string", list_text},
    {"playlist.parse.register", "Add a parser of lists.",
     {arg("name", "string", "Name of the format."), arg("mimes", "[string]", "MIME types of such lists."), arg("strict", "bool", "Can it tell such lists from others?"),
      pos("(?pwd : string, string) -> [[string * string] * string]", "Gives the entries of a text, none when it is no such list.")}, "unit", register_parser},
    {"playlist.id", "A name for the list at a URI.", {arg("default", "string", "Name when the URI has none."), pos("string", "The URI.")}, "string",
     [](const BuiltinArgs& a) { return text(name_of_list(a[1].as_string(), a[0].as_string())); }},
    {"decoder.add", "Add a decoder: what makes another file of a file, to be played in its place.",
     {arg("name", "string", "Its name."), arg("description", "string", "What it does."), opt("static", "(string) -> bool", "fun (_) -> true", "Does a file always give the same?"),
      opt("mimes", "[string]", "[]", "MIME types that it is for."), arg("file_extensions", "[string]", "Extensions that it is for."),
      pos("(rlog : ((string) -> unit), maxtime : float, string) -> string.{temporary? : bool}?",
          "Gives the URI of what to play, or null. `rlog` writes to the log; `maxtime` is when an answer comes too late. The file is deleted afterwards unless `temporary` is false.")}, "unit", add_decoder},
    {"decoder.metadata.add", "Add a reader of metadata.",
     {opt("priority", "{int}", "1", "Above 1, what it reads wins over the tags of the file."), opt("mime_types", "[string]?", "null", "MIME types that it is for; null: all."),
      opt("file_extensions", "[string]?", "null", "Extensions that it is for; null: all."), opt("reentrant", "bool", "false", "May it run while another reader runs?"), pos("string", "Its name."),
      pos("(metadata : [string * string], string) -> [string * string]", "Gives the metadata of a file.")}, "unit", add_reader},
    {"decoder.metadata.reentrant", "Names of the readers of metadata that may run while another runs.", {}, "[string]",
     [](const BuiltinArgs&) { return strings(reentrant_metadata_readers()); }},
    {"encoder.content_type", "The MIME type of what an encoder makes.", {pos("format('a)", "The encoder.")}, "string",
     [](const BuiltinArgs& a) { return text(script::format_from_value(a[0])->mime()); }},
    {"encoder.extension", "The usual extension, without a dot, of what an encoder makes.", {pos("format('a)", "The encoder.")}, "string",
     [](const BuiltinArgs& a) { return text(script::format_from_value(a[0])->extension()); }},
    {"protocol.count", "How many protocols there are.", {}, "int", [](const BuiltinArgs&) { return integer(static_cast<std::int64_t>(all_protocols().size())); }},
    {"request.duration.ffmpeg", "Length in seconds of what a URI stands for, or null.", duration_params, "float?", [](const BuiltinArgs& a) { return duration_of_kind(a, any_file); }},
    {"request.duration.flac", "Length in seconds of a FLAC file, or null.", duration_params, "float?", [](const BuiltinArgs& a) { return duration_of_kind(a, flac_file); }},
    {"request.duration.ogg_flac", "Length in seconds of an Ogg file, or null.", duration_params, "float?", [](const BuiltinArgs& a) { return duration_of_kind(a, ogg_file); }},
    {"request.duration.vorbis", "Length in seconds of an Ogg file, or null.", duration_params, "float?", [](const BuiltinArgs& a) { return duration_of_kind(a, ogg_file); }},
    {"request.duration.mad", "Length in seconds of an MPEG audio file, or null.", duration_params, "float?", [](const BuiltinArgs& a) { return duration_of_kind(a, mpeg_file); }},
    {"request.duration.wav/aiff", "Length in seconds of a WAV or AIFF file, or null.", duration_params, "float?", [](const BuiltinArgs& a) { return duration_of_kind(a, wav_file); }},
});

}  // namespace

}  // namespace castile::builtins
