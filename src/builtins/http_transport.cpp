// http.transport.unix and http.transport.ssl.

#include "lang/builtin.h"
#include "net/transport.h"
#include "script/transport.h"

namespace castile {

namespace {

using lang::Value;

Value make_value(const TransportPtr& transport) {
    return script::to_value(transport)
        .with_method("default_port", Value::integer(transport->default_port()))
        .with_method("name", Value::string(transport->name()))
        .with_method("protocol", Value::string(transport->protocol()));
}

const lang::RegisterBuiltin plain{lang::BuiltinConstant{
    .name = "http.transport.unix",
    .category = "Internet",
    .doc = "HTTP over plain TCP.",
    .type = "http_transport.{default_port : int, name : string, protocol : string}",
    .value = [] { return make_value(TransportPtr(std::make_shared<HttpTransport>())); },
}};

enum : unsigned { read_timeout, write_timeout, password, min_protocol, max_protocol, certificate, key };

const lang::RegisterBuiltin ssl{lang::Builtin{
    .name = "http.transport.ssl",
    .category = "Internet",
    .doc = "HTTP over TLS. A server needs a certificate and its key, and uses a renewed certificate without a restart; a client "
           "trusts the system's authorities and, when given, those in `certificate`.",
    .params = {
        {"read_timeout", "float?", "null", "Accepted for compatibility: connections have their own time-outs."},
        {"write_timeout", "float?", "null", "Accepted for compatibility: connections have their own time-outs."},
        {"password", "string?", "null", "Pass phrase of the key."},
        {"min_protocol", "string?", "null", "Oldest version to speak: \"tls.1.2\" or \"tls.1.3\"."},
        {"max_protocol", "string?", "null", "Newest version to speak."},
        {"certificate", "string?", "null", "PEM file of the certificate, with its chain."},
        {"key", "string?", "null", "PEM file of the private key; when null it is in the certificate's file."},
    },
    .result = "http_transport",
    .methods = {{"default_port", "int", "443."}, {"name", "string", "Name of the transport."}, {"protocol", "string", "\"https\"."}},
    .call = [](const lang::BuiltinArgs& args) -> Value {
        const auto text = [&](unsigned i) { return args[i].is_null() ? std::string() : args[i].as_string(); };
        auto transport = std::make_shared<HttpTransport>();
        transport->tls = true;
        transport->password = text(password);
        transport->min_protocol = text(min_protocol);
        transport->max_protocol = text(max_protocol);
        transport->certificate = text(certificate);
        transport->key = text(key);
        return make_value(TransportPtr(transport));
    },
}};

}  // namespace

}  // namespace castile
