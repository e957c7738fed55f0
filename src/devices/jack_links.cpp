#include "devices/jack_links.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"

namespace castile::devices {

std::vector<std::pair<std::string, std::string>> pair_ports(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs) {
    if (outputs.size() != inputs.size() && outputs.size() != 1 && inputs.size() != 1)
        throw Error(fmt::format("{} outputs and {} inputs cannot be connected: there must be as many of both, or one on a side.", outputs.size(), inputs.size()));
    std::vector<std::pair<std::string, std::string>> pairs;
    for (std::size_t i = 0; i < std::max(outputs.size(), inputs.size()); ++i)
        pairs.emplace_back(outputs[std::min(i, outputs.size() - 1)], inputs[std::min(i, inputs.size() - 1)]);
    return pairs;
}

}  // namespace castile::devices
