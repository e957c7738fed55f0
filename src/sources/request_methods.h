#pragma once
// What request sources share in a script: fetch, queue, add, set_queue, current; and their commands on the server.

#include <functional>
#include <string>
#include <vector>

#include "script/operator.h"
#include "sources/request_source.h"

namespace castile::script {

/// The methods of request.dynamic, which all of them have.
std::vector<OperatorMethod> request_methods();

/// The source behind a script's method or command, if it still lives.
std::shared_ptr<RequestSource> as_request_source(const SourcePtr& source);

/// `id.name`: `run` gets the source and the argument.
void add_request_command(const SourcePtr& source, const std::string& name, const std::string& usage, const std::string& description,
                         std::function<std::string(RequestSource&, const std::string&)> run);

lang::Value request_list(const std::vector<RequestPtr>& requests);
std::vector<RequestPtr> requests_from_value(const lang::Value& value);
/// A script function of no or one argument.
lang::Value method_function(std::function<lang::Value()> f);
lang::Value method_function(std::function<lang::Value(const lang::Value&)> f);

}  // namespace castile::script
