// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/document/output_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <csignal>
#include <system_error>
#include <utility>

#include "runtime/state/file_system.h"

namespace orrery {
namespace fs = std::filesystem;
namespace {

// A temporary file that a signal's handler removes. The handler may neither allocate nor lock.
struct OpenTemporary {
    std::atomic<pid_t> owner = 0;  // 0: free; a forked child does not remove its parent's files
    std::array<char, PATH_MAX> path{};
};
std::array<OpenTemporary, 16> open_temporaries;

void remove_temporaries(int signal) {
    for (const OpenTemporary& one : open_temporaries) {
        if (one.owner == getpid()) {
            unlink(one.path.data());
        }
    }
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

// Ignored signals and signals with another handler are left alone.
void remove_when_interrupted(const fs::path& temporary) {
    const std::string& name = temporary.native();
    const auto slot = std::ranges::find_if(open_temporaries,
                                           [](const OpenTemporary& one) { return one.owner == 0; });
    if (slot == open_temporaries.end() || name.size() >= slot->path.size()) {
        return;
    }
    *std::ranges::copy(name, slot->path.begin()).out = '\0';
    slot->owner = getpid();
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction now {};
        if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) {
            std::signal(signal, remove_temporaries);
        }
    }
}

bool is_open(const fs::path& temporary) {
    return std::ranges::any_of(open_temporaries, [&](const OpenTemporary& one) {
        return one.owner == getpid() && temporary == one.path.data();
    });
}

void keep_when_interrupted(const fs::path& temporary) {
    for (OpenTemporary& one : open_temporaries) {
        if (one.owner == getpid() && temporary == one.path.data()) {
            one.owner = 0;
        }
    }
}

}  // namespace

OutputFile::OutputFile(fs::path path, fs::path temporary)
    : path_(std::move(path)),
      temporary_(std::move(temporary)),
      stream_(temporary_.empty() ? path_ : temporary_,
              std::ios::binary | (path_ == "/dev/stdout" ? std::ios::app : std::ios::trunc)) {}

Result<std::unique_ptr<OutputFile>> OutputFile::open(const fs::path& name) {
    if (name == "-") {
        // Standard output keeps its previous content.
        return std::unique_ptr<OutputFile>{new OutputFile{"/dev/stdout", {}}};
    }
    const fs::path path = behind_links(name);
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
        return fail(path.string(), "is a folder", "the name of a file, in this folder for example");
    }
    if (path.empty() || fs::is_symlink(path, ignored)) {
        return fail(path.string(), "is not the name of a file", "give a file name");
    }
    const bool direct = fs::exists(path, ignored) && !fs::is_regular_file(path, ignored);
    fs::path temporary = path;
    temporary += fmt::format(".{}.tmp", getpid());
    if (direct) {
        temporary.clear();
    }
    if (!direct) {
        if (is_open(temporary)) {
            return fail(path.string(), "two options name this file", "a file for each");
        }
        remove_when_interrupted(temporary);
    }
    std::unique_ptr<OutputFile> file{new OutputFile{path, temporary}};
    if (!file->stream_) {
        return fail(
            path.string(), "can't be written", "does the folder exist, and may you write there?");
    }
    return file;
}

Result<std::unique_ptr<OutputFile>> OutputFile::open_if_named(const fs::path& name) {
    return name.empty() ? Result<std::unique_ptr<OutputFile>>{} : open(name);
}

Result<void> OutputFile::write(const fs::path& name, const std::string& text) {
    const auto file = open(name);
    return file ? (*file)->commit(text) : unexpected<Error>(file.error());
}

Result<void> OutputFile::commit(const std::string& text) {
    stream_ << text;
    return commit();
}

OutputFile::~OutputFile() {
    if (!committed_ && !temporary_.empty()) {
        std::error_code ignored;
        stream_.close();
        fs::remove(temporary_, ignored);
    }
    keep_when_interrupted(temporary_);
}

Result<void> OutputFile::commit() {
    stream_.close();
    if (!stream_) {
        return fail(path_ == "/dev/stdout" ? "standard output" : path_.string(),
                    "can't be written",
                    "is the disk full?");
    }
    if (!temporary_.empty()) {
        std::error_code error;
        fs::rename(temporary_, path_, error);
        if (error) {
            return fail(path_.string(),
                        "can't be written: " + error.message(),
                        "may you write in its folder?");
        }
    }
    committed_ = true;
    return {};
}

}  // namespace orrery
