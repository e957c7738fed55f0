#pragma once
// The file of an output.file: opened, written and closed on the output's FileQueue. Never throws, never fatal.

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "base/bytes.h"
#include "base/log.h"
#include "outputs/file_name.h"

namespace castile {

class FileWriter {
public:
    /// `closed` is called with the name of each file that was finished, and whether it is the last for now.
    FileWriter(int perm, int dir_perm, std::function<void(const std::string&, bool last)> closed, Logger log);

    // In the order of the queue. `run` numbers the files: an error concerns one of them.
    void open(const std::string& path, bool append, std::int64_t run) noexcept;
    void write(ByteSpan data) noexcept;
    void close(bool last) noexcept;

    // Any thread.
    bool failed(std::int64_t run) const noexcept { return failed_run_ == run; }
    std::int64_t errors() const noexcept { return errors_; }

private:
    void fail(const std::exception& error) noexcept;

    const int perm_, dir_perm_;
    const std::function<void(const std::string&, bool)> closed_;
    Logger log_;
    OpenFile file_;
    std::string failed_path_;   // it is gone on with, not begun anew, when the same name comes again
    bool failing_ = false;
    std::int64_t run_ = 0;
    std::atomic<std::int64_t> failed_run_ = -1, errors_ = 0;
};

}  // namespace castile
