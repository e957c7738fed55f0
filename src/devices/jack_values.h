#pragma once
// JACK's ports as values of the script, and the records that have ports.

#include <memory>
#include <string>
#include <vector>

#include "devices/jack_client.h"
#include "lang/value.h"

namespace castile::devices {

enum class PortKind { input, output };   ///< as JACK sees it: sound goes into an input

lang::Value port_value(PortKind kind, JackServer& server, const std::string& name, bool with_methods);
lang::Value port_values(PortKind kind, JackServer& server, const std::vector<std::string>& names, bool with_methods);
const std::string& port_name(const lang::Value& port);   ///< Valid as long as the value.

/// The method `ports` of an operator.
lang::Value ports_method(const std::shared_ptr<JackClient>& client);
/// The method `connect` of an operator: with whatever has a method `ports`, now and whenever both are there again.
lang::Value connect_method(const std::shared_ptr<JackClient>& client);

}  // namespace castile::devices
