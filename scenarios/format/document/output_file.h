// SPDX-License-Identifier: Apache-2.0
// A file that appears whole or not at all: written under a temporary name beside it, renamed by
// commit(), removed if that never happens, also by SIGINT, SIGTERM or SIGHUP. Opened before the
// work starts, so that an unwritable place is an error at once. "-" is standard output, and what is
// no regular file (/dev/null, a pipe) is written directly.
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
    // Null where no file is named.
    static Result<std::unique_ptr<OutputFile>> open_if_named(const std::filesystem::path& name);
    // All of a file at once.
    static Result<void> write(const std::filesystem::path& name, const std::string& text);
    // The same of what `writer` writes to a stream.
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
    // The text, and nothing after it.
    Result<void> commit(const std::string& text);

private:
    OutputFile(std::filesystem::path path, std::filesystem::path temporary);

    std::filesystem::path path_;
    std::filesystem::path temporary_;  // empty: written directly
    std::ofstream stream_;
    bool committed_ = false;
};

}  // namespace orrery
