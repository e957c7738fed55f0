#pragma once
// What an editor wants to know of one script: what is wrong, what each name is, and what could be written at a place.

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lang/engine.h"
#include "tools/document.h"

namespace castile::tools {

/// As JSON, since it is made in another process than the one that answers:
/// {"diagnostics": [...], "parsed": bool, "symbols": [...] (of the protocol),
///  "names": [{"begin", "end" (bytes), "name", "type", "doc", "global" (it is one of the library's, dotted), "uri" and "range" (of its definition)}]}
/// `path` names the script and is where its includes are looked for.
nlohmann::json analyse(lang::Engine& engine, const std::string& path, const std::string& text, Columns columns);

/// What may stand at `offset`: {"word": what is typed of it, "path": "list." (a global's members are asked for), "global": bool (so
/// are all globals), "names": [{"label", "type", "kind" (of the protocol), "insert"?}]}
nlohmann::json complete(lang::Engine& engine, const std::string& path, const std::string& text, std::size_t offset);

}  // namespace castile::tools
