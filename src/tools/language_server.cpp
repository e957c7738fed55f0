// Messages, documents, diagnostics.

#include "tools/language_server.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "tools/analysis.h"
#include "tools/isolated.h"

namespace castile::tools {

namespace {

enum Code : int { parse_error = -32700, invalid_request = -32600, method_not_found = -32601, invalid_params = -32602, internal_error = -32603,
                  not_initialized = -32002, request_failed = -32803 };

constexpr std::chrono::seconds longest_analysis{20};
constexpr std::size_t max_documents = 1000, max_document = 8U << 20U;
constexpr unsigned max_depth = 200;

/// Nested no deeper than that? Counted before it is parsed.
bool shallow(std::string_view body) {
    unsigned depth = 0;
    bool string = false;
    for (std::size_t i = 0; i < body.size(); ++i) {
        const char c = body[i];
        if (string) {
            if (c == '\\') ++i;
            else if (c == '"') string = false;
        } else if (c == '"') {
            string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > max_depth) return false;
        } else if ((c == ']' || c == '}') && depth > 0) {
            --depth;
        }
    }
    return true;
}

}  // namespace

LanguageServer::LanguageServer(lang::Engine& engine, std::string library, int in, int out)
    : engine_(engine), library_(std::move(library)), stream_(in, out), catalogue_(make_catalogue(engine)), names_(engine.types().names()) {}

int LanguageServer::run() {
    std::string body;
    while (!done_ && !gone_) {
        switch (stream_.read(body)) {
            case MessageStream::Result::message: handle(body); break;
            case MessageStream::Result::too_large: fail(nullptr, invalid_request, "This message is too large."); break;
            case MessageStream::Result::malformed: fail(nullptr, parse_error, "A message needs a Content-Length header."); break;
            case MessageStream::Result::end: return 1;
        }
        // A burst of changes is looked at once, when it is over.
        if (!done_ && !stream_.pending()) check_changed();
    }
    return shut_down_ && !gone_ ? 0 : 1;
}

void LanguageServer::send(const Json& message) {
    if (!stream_.write(message.dump(-1, ' ', false, Json::error_handler_t::replace))) gone_ = true;
}

void LanguageServer::answer(const Json& id, Json result) { send({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}}); }

void LanguageServer::fail(const Json& id, int code, const std::string& message) {
    send({{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", message}}}});
}

void LanguageServer::log(const std::string& message) {
    send({{"jsonrpc", "2.0"}, {"method", "window/logMessage"}, {"params", {{"type", 2}, {"message", message}}}});
}

void LanguageServer::handle(const std::string& body) {
    Json message;
    try {
        if (!shallow(body)) return fail(nullptr, parse_error, "This message is nested too deeply.");
        message = Json::parse(body);
    } catch (const Json::exception&) {
        return fail(nullptr, parse_error, "This message is not JSON.");
    }
    if (!message.is_object()) return fail(nullptr, invalid_request, "A message is an object.");
    const auto found = message.find("id");
    const bool wants_answer = found != message.end();
    const Json id = wants_answer ? *found : Json(nullptr);
    if (wants_answer && !id.is_number_integer() && !id.is_string() && !id.is_null()) return fail(nullptr, invalid_request, "An id is a number or a string.");
    const auto method = message.find("method");
    if (method == message.end()) {
        // The answer to a request: we make none.
        if (!message.contains("result") && !message.contains("error")) fail(id, invalid_request, "A message names a method.");
        return;
    }
    if (!method->is_string()) return fail(id, invalid_request, "The name of a method is a string.");
    const Json params = message.value("params", Json::object());
    const std::string name = *method;
    try {
        if (wants_answer) request(id, name, params);
        else notification(name, params);
    } catch (const Json::exception&) {
        if (wants_answer) fail(id, invalid_params, "The parameters of " + name + " are not as they should be.");
    } catch (const std::exception& e) {
        if (wants_answer) fail(id, request_failed, e.what());
    }
}

void LanguageServer::request(const Json& id, const std::string& method, const Json& params) {
    if (shut_down_) return fail(id, invalid_request, "The server was shut down.");
    if (method == "initialize") {
        if (initialized_) return fail(id, invalid_request, "The server is initialized already.");
        return answer(id, initialize(params));
    }
    if (!initialized_) return fail(id, not_initialized, "The first request is initialize.");
    if (method == "shutdown") {
        shut_down_ = true;
        return answer(id, nullptr);
    }
    if (method == "textDocument/hover") return answer(id, hover(params));
    if (method == "textDocument/completion") return answer(id, completion(params));
    if (method == "textDocument/definition") return answer(id, definition(params));
    if (method == "textDocument/formatting") return answer(id, format(params));
    if (method == "textDocument/signatureHelp") return answer(id, signature(params));
    if (method == "textDocument/documentSymbol") {
        Document& d = document(params);
        if (d.changed) check(params.at("textDocument").at("uri"), d);
        return answer(id, d.symbols);
    }
    fail(id, method_not_found, "There is no method " + method + ".");
}

void LanguageServer::notification(const std::string& method, const Json& params) {
    if (method == "exit") {
        done_ = true;
        return;
    }
    if (!initialized_ || shut_down_) return;
    if (method == "textDocument/didOpen") open(params);
    if (method == "textDocument/didChange") change(params);
    if (method == "textDocument/didSave") {
        // What it includes may have been saved.
        for (auto& [uri, d] : documents_) d.changed = true;
    }
    if (method == "textDocument/didClose") {
        const std::string uri = params.at("textDocument").at("uri");
        if (documents_.erase(uri) > 0)
            send({{"jsonrpc", "2.0"}, {"method", "textDocument/publishDiagnostics"}, {"params", {{"uri", uri}, {"diagnostics", Json::array()}}}});
    }
}

LanguageServer::Json LanguageServer::initialize(const Json& params) {
    initialized_ = true;
    for (const std::string& fault : engine_.faults()) log("A file of the standard library is left out. " + fault);
    const Json::json_pointer offered("/capabilities/general/positionEncodings");
    if (params.is_object() && params.contains(offered) && params.at(offered).is_array() &&
        std::ranges::find(params.at(offered), Json("utf-8")) != params.at(offered).end())
        columns_ = Columns::utf8;
    return {{"capabilities",
             {{"positionEncoding", columns_ == Columns::utf8 ? "utf-8" : "utf-16"},
              {"textDocumentSync", {{"openClose", true}, {"change", 2}, {"save", true}}},
              {"hoverProvider", true},
              {"definitionProvider", true},
              {"documentSymbolProvider", true},
              {"documentFormattingProvider", true},
              {"signatureHelpProvider", {{"triggerCharacters", {"(", ","}}}},
              {"completionProvider", {{"triggerCharacters", {".", "("}}}}}},
            {"serverInfo", {{"name", "castile"}, {"version", CASTILE_VERSION}}}};
}

LanguageServer::Document& LanguageServer::document(const Json& params) {
    const std::string uri = params.at("textDocument").at("uri");
    const auto found = documents_.find(uri);
    if (found == documents_.end()) throw std::runtime_error("This document is not open: " + uri.substr(0, 200) + ".");
    return found->second;
}

void LanguageServer::open(const Json& params) {
    const Json& item = params.at("textDocument");
    const std::string uri = item.at("uri");
    if (documents_.size() >= max_documents && !documents_.contains(uri)) return log("Too many documents are open.");
    Document d;
    d.text = item.at("text");
    d.version = item.value("version", Json(nullptr));
    documents_.insert_or_assign(uri, std::move(d));
}

void LanguageServer::change(const Json& params) {
    Document& d = document(params);
    // A change that cannot be read leaves the document as it was.
    std::string text = d.text;
    for (const Json& c : params.at("contentChanges")) {
        const std::string& piece = c.at("text").get_ref<const std::string&>();
        if (!c.contains("range") || c.at("range").is_null()) {
            text = piece;
            continue;
        }
        const Lines lines(text);
        const auto place = [&](const Json& p) { return lines.offset({p.at("line").get<std::size_t>(), p.at("character").get<std::size_t>()}, columns_); };
        const std::size_t begin = place(c.at("range").at("start"));
        const std::size_t end = std::max(begin, place(c.at("range").at("end")));
        text.replace(begin, end - begin, piece);
    }
    d.text = std::move(text);
    d.version = params.at("textDocument").value("version", Json(nullptr));
    d.changed = true;
}

void LanguageServer::check_changed() {
    for (auto& [uri, d] : documents_) {
        if (d.changed) check(uri, d);
        if (gone_ || stream_.pending()) return;
    }
}

void LanguageServer::check(const std::string& uri, Document& d) {
    d.changed = false;
    Json result;
    if (d.text.size() > max_document) {
        log("This document is too large to be checked.");
        result = {{"diagnostics", Json::array()}, {"parsed", false}};
    } else {
        const std::optional<std::string> answer = isolated(
            [&] {
                const std::vector<std::uint8_t> bytes = Json::to_cbor(analyse(engine_, path_of_uri(uri), d.text, columns_));
                return std::string(bytes.begin(), bytes.end());
            },
            longest_analysis);
        if (answer) {
            result = Json::from_cbor(*answer);
        } else {
            const Json start{{"line", 0}, {"character", 0}};
            result = {{"parsed", false},
                      {"diagnostics", Json::array({{{"range", {{"start", start}, {"end", start}}}, {"severity", 1}, {"source", "castile"},
                                                    {"message", "This script could not be checked: it takes too much time or memory."}}})}};
        }
    }
    if (result.at("parsed").get<bool>()) {
        d.names = std::move(result.at("names"));
        d.symbols = std::move(result.at("symbols"));
        d.names_text = d.text;
    }
    Json params{{"uri", uri}, {"diagnostics", std::move(result.at("diagnostics"))}};
    if (d.version.is_number_integer()) params["version"] = d.version;
    send({{"jsonrpc", "2.0"}, {"method", "textDocument/publishDiagnostics"}, {"params", std::move(params)}});
}

}  // namespace castile::tools
