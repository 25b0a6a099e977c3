// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/file_system.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

namespace orrery {
namespace {

using Path = FileSystem::Path;

auto failed(const Path& path, const std::string& what, int error) {
    return fail(path.string(),
                what + ": " + std::strerror(error),
                error == ENOSPC ? "free some space on the disk"
                                : "does the folder exist, and may you write there?");
}

// A rename or creation in a folder is on the disk once the folder is synced.
Result<void> sync_folder(const Path& folder) {
    const Path name = folder.empty() ? Path{"."} : folder;
    const int file = ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (file < 0) {
        return failed(name, "can't be opened", errno);
    }
    const bool good = ::fsync(file) == 0 || errno == EINVAL;  // EINVAL: folders need no sync here
    const int error = errno;
    ::close(file);
    return good ? Result<void>{} : failed(name, "can't be written", error);
}

// False, with errno, if not all bytes could be written.
bool write_all(int file, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(file, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return false;
        }
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return true;
}

class Disk : public FileSystem {
public:
    Result<void> create_folder(const Path& path) override {
        std::error_code error;
        std::filesystem::create_directories(path, error);
        return error ? failed(path, "can't be created", error.value())
                     : sync_folder(path.parent_path());
    }

    Result<void> write_file(const Path& path, const Pieces& pieces) override {
        const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (file < 0) {
            return failed(path, "can't be created", errno);
        }
        bool good = true;
        for (std::size_t i = 0; i < pieces.size() && good; ++i) {
            good = write_all(file, pieces[i]);
        }
        good = good && ::fsync(file) == 0;
        int error = errno;
        if (::close(file) != 0 && good) {
            good = false;
            error = errno;
        }
        return good ? sync_folder(path.parent_path()) : failed(path, "can't be written", error);
    }

    Result<void> rename(const Path& from, const Path& to) override {
        if (::rename(from.c_str(), to.c_str()) != 0) {
            return failed(to, "can't be created", errno);
        }
        return sync_folder(to.parent_path());
    }

    Result<void> remove(const Path& path) override {
        std::error_code error;
        std::filesystem::remove_all(path, error);
        return error ? failed(path, "can't be removed", error.value()) : Result<void>{};
    }
};

}  // namespace

std::filesystem::path behind_links(std::filesystem::path path) {
    constexpr int kLinksMax = 40;
    std::error_code error;
    for (int i = 0; i < kLinksMax && std::filesystem::is_symlink(path, error); ++i) {
        path = path.parent_path() / std::filesystem::read_symlink(path, error);
    }
    return path;
}

FileSystem& disk() {
    static Disk the_disk;
    return the_disk;
}

}  // namespace orrery
