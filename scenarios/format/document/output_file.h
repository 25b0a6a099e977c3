// SPDX-License-Identifier: Apache-2.0
// A file that appears complete or not at all. It is written under a temporary name beside its own
// and renamed by commit(). Without commit(), also at SIGINT, SIGTERM or SIGHUP, it is removed. Open
// it before the work, so that an unwritable place is reported at once. "-" is standard output.
// Files that are not regular (/dev/null, a pipe) are written directly.
#pragma once

#include <concepts>
#include <filesystem>
#include <fstream>
#include <memory>
#include <ostream>
#include <string>

#include "engine/base/result.h"

namespace orrery {

class OutputFile {
public:
    static Result<std::unique_ptr<OutputFile>> open(const std::filesystem::path& name);
    // Null if `name` is empty.
    static Result<std::unique_ptr<OutputFile>> open_if_named(const std::filesystem::path& name);
    // Writes a whole file.
    static Result<void> write(const std::filesystem::path& name, const std::string& text);
    // Writes a whole file by `writer`, a function of a stream.
    template <std::invocable<std::ostream&> Writer>
    static Result<void> write(const std::filesystem::path& name, const Writer& writer) {
        const auto file = open(name);
        if (!file) {
            return unexpected<Error>(file.error());
        }
        writer((*file)->stream());
        return (*file)->commit();
    }
    ~OutputFile();
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    std::ostream& stream() { return stream_; }
    Result<void> commit();
    // Writes the text, which must be the whole content.
    Result<void> commit(const std::string& text);

private:
    OutputFile(std::filesystem::path path, std::filesystem::path temporary);

    std::filesystem::path path_;
    std::filesystem::path temporary_;  // empty: written directly
    std::ofstream stream_;
    bool committed_ = false;
};

}  // namespace orrery
