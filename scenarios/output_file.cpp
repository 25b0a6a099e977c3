// SPDX-License-Identifier: Apache-2.0
#include "scenarios/output_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <system_error>
#include <utility>

#include "runtime/state/file_system.h"

namespace orrery {
namespace fs = std::filesystem;

OutputFile::OutputFile(fs::path path, fs::path temporary)
    : path_(std::move(path)),
      temporary_(std::move(temporary)),
      stream_(temporary_.empty() ? path_ : temporary_, std::ios::binary | std::ios::trunc) {}

Result<std::unique_ptr<OutputFile>> OutputFile::open(const fs::path& name) {
    const fs::path path = behind_links(name);
    std::error_code ignored;
    if (path.empty() || fs::is_directory(path, ignored) || fs::is_symlink(path, ignored)) {
        return fail(path.string(), "is not the name of a file", "give a file name");
    }
    const bool direct = fs::exists(path, ignored) && !fs::is_regular_file(path, ignored);
    fs::path temporary = path;
    temporary += fmt::format(".{}.tmp", getpid());
    if (direct) {
        temporary.clear();
    }
    std::unique_ptr<OutputFile> file{new OutputFile{path, temporary}};
    if (!file->stream_) {
        return fail(
            path.string(), "can't be written", "does the folder exist, and may you write there?");
    }
    return file;
}

OutputFile::~OutputFile() {
    if (!committed_ && !temporary_.empty()) {
        std::error_code ignored;
        stream_.close();
        fs::remove(temporary_, ignored);
    }
}

Result<void> OutputFile::commit() {
    stream_.close();
    if (!stream_) {
        return fail(path_.string(), "can't be written", "is the disk full?");
    }
    if (!temporary_.empty()) {
        std::error_code error;
        fs::rename(temporary_, path_, error);
        if (error) {
            return fail(path_.string(), "can't be written: " + error.message(), {});
        }
    }
    committed_ = true;
    return {};
}

}  // namespace orrery
