// s3://bucket/key fetches a file from Amazon's storage, by its program aws.

#include "protocols/amazon.h"

#include "base/child_process.h"
#include "base/settings.h"
#include "protocols/command.h"

namespace castile::protocols {

namespace {

Setting<std::string> path{"protocol.aws.path", "aws", "Program that talks to Amazon's services."};

/// Null until the script sets it.
struct OptionalText : SettingBase {
    OptionalText(const char* name, const char* doc) : SettingBase(name, std::string(), doc, true) {}
    std::string get() const { return std::get<std::string>(value()); }
};
OptionalText region{"protocol.aws.region", "Region of Amazon's services."};
OptionalText endpoint{"protocol.aws.endpoint", "Address of a service that speaks like Amazon's."};
OptionalText profile{"protocol.aws.profile", "Profile of that program."};

std::string extension_of(const std::string& uri) {
    const std::string name = uri.substr(uri.rfind('/') + 1);
    const std::size_t dot = name.rfind('.');
    return dot == name.npos ? "" : name.substr(dot + 1);
}

const RegisterProtocol s3{"s3", "Fetch a file from Amazon's storage, by the program aws.", "s3://bucket/key", [](const std::string& rest, double timeout) {
    return file_by_command(amazon_command() + " s3 cp " + shell_quoted("s3:" + rest) + " $(output)", extension_of(rest), timeout);
}};

}  // namespace

std::string amazon_command() {
    std::string command = path.get();
    if (region.is_set()) command += " --region " + shell_quoted(region.get());
    if (endpoint.is_set()) command += " --endpoint-url " + shell_quoted(endpoint.get());
    if (profile.is_set()) command += " --profile " + shell_quoted(profile.get());
    return command;
}

}  // namespace castile::protocols
