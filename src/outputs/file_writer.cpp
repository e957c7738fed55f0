#include "outputs/file_writer.h"

#include <fcntl.h>

#include <exception>

namespace castile {

FileWriter::FileWriter(int perm, int dir_perm, std::function<void(const std::string&, bool)> closed, Logger log)
    : perm_(perm), dir_perm_(dir_perm), closed_(std::move(closed)), log_(std::move(log)) {}

void FileWriter::open(const std::string& path, bool append, std::int64_t run) noexcept {
    run_ = run;
    try {
        make_folders(parent_folder(path), dir_perm_);
        const bool go_on = append || path == failed_path_;
        failed_path_ = path;  // until it was closed well
        file_ = OpenFile(path, O_WRONLY | O_CREAT | (go_on ? O_APPEND : O_TRUNC), perm_);
    } catch (const std::exception& error) {
        fail(error);
    }
}

void FileWriter::write(ByteSpan data) noexcept {
    if (!file_) return;
    try {
        file_.write_all(data);
        if (!failing_) return;
        failing_ = false;
        log_.important("{} can be written again.", file_.path());
    } catch (const std::exception& error) {
        fail(error);
    }
}

void FileWriter::close(bool last) noexcept {
    if (!file_) return;
    const std::string path = file_.path();
    try {
        file_.close();
    } catch (const std::exception& error) {
        fail(error);
        return;
    }
    failed_path_.clear();
    if (closed_) closed_(path, last);
}

void FileWriter::fail(const std::exception& error) noexcept {
    ++errors_;
    failed_run_ = run_;
    file_ = OpenFile();
    if (!failing_) log_.severe("Cannot write the file: {}. Trying again later.", error.what());
    failing_ = true;
}

}  // namespace castile
