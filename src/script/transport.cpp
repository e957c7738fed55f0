#include "script/transport.h"

#include <cassert>

namespace castile::script {

const lang::ForeignKind http_transport_kind{"http_transport"};

lang::Value to_value(const std::shared_ptr<const HttpTransport>& transport) {
    return lang::Value::foreign(http_transport_kind, std::const_pointer_cast<HttpTransport>(transport));
}

std::shared_ptr<const HttpTransport> transport_from_value(const lang::Value& value) {
    if (value.is_null()) return nullptr;
    assert(value.foreign_kind() == &http_transport_kind);
    return value.as_foreign<const HttpTransport>();
}

}  // namespace castile::script
