#pragma once
// What the scheduler can be told: by option, by /etc/castile/isod.conf and while it runs. One table of names and ranges.

#include <expected>
#include <string>
#include <string_view>

#include "iso_shared.h"

namespace castile::iso {

/// The defaults of this machine: 70 %, 5 s, 10 ms, and the slice that the kernel's own scheduler has on as many CPUs.
iso_tunables default_tunables(unsigned cpus);

/// "iso_cpu", "80" and so on; spaces around are ignored. The error is a sentence without its end: "iso_cpu must be ...".
std::expected<void, std::string> set_tunable(iso_tunables& tunables, std::string_view name, std::string_view value);

/// Lines `name = value`; # starts a comment. A missing file is an empty one. The error names the line.
std::expected<void, std::string> read_config(const std::string& path, iso_tunables& tunables);

/// "iso_cpu=70 iso_period=5 ...", each as set_tunable() takes it.
std::string tunables_text(const iso_tunables& tunables);

}  // namespace castile::iso
