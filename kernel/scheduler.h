#pragma once
// The BPF program in the kernel: load, attach, its shared memory, its end. One thread.

#include <expected>
#include <memory>
#include <string>

#include "iso_shared.h"

namespace castile::iso {

class Scheduler {
  public:
    /// The error is one sentence without its end: no privilege, taken by another, a kernel that lacks something.
    static std::expected<std::unique_ptr<Scheduler>, std::string> load(const iso_tunables& tunables, unsigned mutation, bool verbose);
    ~Scheduler();

    iso_shared& shared() noexcept;
    unsigned cpus() const noexcept;
    /// The kernel ended it.
    bool ended() noexcept;
    /// It did so because a CPU came or went: load it again.
    bool restart_wanted() noexcept;
    std::string end_reason();

  private:
    struct Impl;
    explicit Scheduler(std::unique_ptr<Impl> impl) noexcept;
    std::unique_ptr<Impl> impl_;
};

}  // namespace castile::iso
