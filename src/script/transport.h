#pragma once
// Values of type http_transport: how an HTTP port or connection travels.

#include "lang/value.h"
#include "net/transport.h"

namespace castile::script {

extern const lang::ForeignKind http_transport_kind;

lang::Value to_value(const TransportPtr& transport);   ///< with default_port, name and protocol as methods
TransportPtr transport_from_value(const lang::Value& value);   ///< null: the plain one

}  // namespace castile::script
