#pragma once
// The statistics of the scheduler as a table and as Prometheus text. Reads words that CPUs write meanwhile: each is whole.

#include <string>

#include "iso_shared.h"

namespace castile::iso {

/// CPUs that never ran are left out.
std::string status_text(const iso_shared& shared, unsigned cpus, unsigned attached);
std::string metrics_text(const iso_shared& shared, unsigned cpus, unsigned attached);

}  // namespace castile::iso
