#include "script/transport.h"

#include <cassert>

namespace castile::script {

const lang::ForeignKind http_transport_kind{"http_transport"};

lang::Value to_value(const TransportPtr& transport) {
    return lang::Value::foreign(http_transport_kind, std::const_pointer_cast<HttpTransport>(transport))
        .with_method("default_port", lang::Value::integer(transport->default_port()))
        .with_method("name", lang::Value::string(transport->name()))
        .with_method("protocol", lang::Value::string(transport->protocol()));
}

TransportPtr transport_from_value(const lang::Value& value) {
    static const TransportPtr plain = std::make_shared<HttpTransport>();
    if (value.is_null()) return plain;
    assert(value.foreign_kind() == &http_transport_kind);
    return value.as_foreign<const HttpTransport>();
}

}  // namespace castile::script
