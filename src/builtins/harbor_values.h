#pragma once
// HTTP requests and answers as scripts see them, and the routes that scripts make.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lang/builtin.h"
#include "net/http_server.h"

namespace castile::harbor {

using Fields = std::vector<std::pair<std::string, std::string>>;

lang::Value pairs(const Fields& fields);
Fields fields_of(const lang::Value& list);

/// What a handler gets; `matched` comes before the query's own arguments.
lang::Value request_value(const HttpServerRequest& request, const Fields& matched);
const std::string& request_type();   ///< a function: declarations of other files are made before this one's constants

/// What a handler fills in. Any thread.
struct Answer;
using AnswerPtr = std::shared_ptr<Answer>;
AnswerPtr make_answer();
/// Called it is the whole answer as text; its methods fill it in.
lang::Value answer_value(const AnswerPtr& answer);
const std::string& answer_type();
/// Blocking: a body that is a getter is asked piece by piece.
void send(const HttpExchangePtr& exchange, const AnswerPtr& answer);

/// Serves a route until harbor.remove, or until another is made with the same port, method and key. Throws ScriptError.
void keep_route(const lang::BuiltinArgs& args, unsigned port_index, unsigned transport_index, HttpRoute route, const std::string& key,
                HttpHandler handler);
std::string upper(std::string text);

}  // namespace castile::harbor
