#pragma once
// `castile lsp`: the Language Server Protocol on two descriptors, over the same front end as everything else.

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lang/engine.h"
#include "tools/catalogue.h"
#include "tools/document.h"
#include "tools/message_stream.h"

namespace castile::tools {

/// One connection, one thread. Scripts are read in processes of their own (isolated.h): nothing they do reaches this one.
class LanguageServer {
public:
    /// `library`: the folder of the standard library, for definitions.
    LanguageServer(lang::Engine& engine, std::string library, int in, int out);
    int run();   ///< until `exit`, or the end of the input; gives the exit code

private:
    using Json = nlohmann::json;

    struct Document {
        std::string text;
        Json version;
        bool changed = true;             ///< since it was analysed
        Json names = Json::array();      ///< of the last text that parsed,
        std::string names_text;          ///< which is this one
        Json symbols = Json::array();
    };

    void handle(const std::string& body);
    void request(const Json& id, const std::string& method, const Json& params);
    void notification(const std::string& method, const Json& params);
    void send(const Json& message);
    void answer(const Json& id, Json result);
    void fail(const Json& id, int code, const std::string& message);
    void log(const std::string& message);

    void open(const Json& params);
    void change(const Json& params);
    void check_changed();
    void check(const std::string& uri, Document& document);

    Json initialize(const Json& params);
    Json hover(const Json& params);
    Json completion(const Json& params);
    Json definition(const Json& params);
    Json format(const Json& params);
    Json signature(const Json& params);

    Document& document(const Json& params);
    std::size_t offset(const Document& document, const Json& params) const;
    /// What stands at an offset, by the last text that parsed; null when that is not known.
    const Json* name_at(const Document& document, std::size_t offset, std::size_t& begin, std::size_t& end) const;
    std::optional<Json> library_location(const std::string& name) const;
    Json range(const std::string& text, std::size_t begin, std::size_t end) const;
    const Described* described(const std::string& name) const;

    lang::Engine& engine_;
    std::string library_;
    MessageStream stream_;
    Catalogue catalogue_;
    std::vector<std::string> names_;     ///< every global, dotted, sorted
    std::map<std::string, Document> documents_;
    Columns columns_ = Columns::utf16;
    bool initialized_ = false, shut_down_ = false, done_ = false;
    bool gone_ = false;                  ///< the editor takes nothing any more
};

}  // namespace castile::tools
