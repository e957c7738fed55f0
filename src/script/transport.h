#pragma once
// Values of type http_transport: how an HTTP port or connection travels (net/transport.h).

#include <memory>

#include "lang/value.h"

namespace castile {
struct HttpTransport;
}

namespace castile::script {

extern const lang::ForeignKind http_transport_kind;

lang::Value to_value(const std::shared_ptr<const HttpTransport>& transport);
std::shared_ptr<const HttpTransport> transport_from_value(const lang::Value& value);   ///< null: nullptr, the plain one

}  // namespace castile::script
