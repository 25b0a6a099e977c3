// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/tier_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#include "engine/base/check.h"

namespace orrery {
namespace {

constexpr const char* kKey = "job.offload_folder";

auto failed(const std::string& what, int error) {
    const bool full = error == ENOSPC || error == EFBIG || error == EDQUOT;
    return fail(kKey,
                what + ": " + std::strerror(error),
                full ? "free some space, or another folder" : "a folder that may be written to");
}

// A file without a name, or -1.
int open_nameless(const std::filesystem::path& folder) {
    const int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) {
        return file;
    }
    // For file systems without O_TMPFILE.
    std::string name = (folder / "optimizer-XXXXXX").string();
    const int named = ::mkostemp(name.data(), O_CLOEXEC);
    if (named >= 0) {
        ::unlink(name.c_str());
    }
    return named;
}

}  // namespace

Result<std::unique_ptr<TierFile>> TierFile::create(const std::filesystem::path& folder,
                                                   std::int64_t bytes) {
    ORRERY_CHECK(bytes > 0);
    if (folder.empty()) {
        return fail(kKey,
                    "the optimizer's state lies in a file, and no folder is given for it",
                    "a folder on a drive of each node");
    }
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
        return failed(folder.string() + " can't be created", error.value());
    }
    const int file = open_nameless(folder);
    if (file < 0) {
        return failed(folder.string() + " can't have a file", errno);
    }
    if (const int full = ::posix_fallocate(file, 0, bytes); full != 0) {
        ::close(file);
        return failed(
            fmt::format("{} has no room for {} bytes of optimizer state", folder.string(), bytes),
            full);
    }
    const auto size = static_cast<std::size_t>(bytes);
    void* const data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (data == MAP_FAILED) {
        const int why = errno;
        ::close(file);
        return failed("the file of the optimizer's state can't be mapped", why);
    }
    return std::unique_ptr<TierFile>{new TierFile(file, static_cast<std::byte*>(data), size)};
}

TierFile::TierFile(int file, std::byte* data, std::size_t size)
    : file_(file), data_(data), size_(size), thread_([this] { work_off(); }) {}

TierFile::~TierFile() {
    {
        const std::scoped_lock guard{lock_};
        ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
    ::munmap(data_, size_);
    ::close(file_);
}

void TierFile::ask(const Work& work) {
    ORRERY_CHECK(work.offset >= 0 && static_cast<std::size_t>(work.offset) + work.size <= size_);
    {
        const std::scoped_lock guard{lock_};
        open_.push_back(work);
    }
    changed_.notify_all();
}

void TierFile::read(std::int64_t offset, std::span<std::byte> into) {
    ask({.writes = false, .offset = offset, .bytes = into.data(), .size = into.size()});
}

void TierFile::write(std::int64_t offset, std::span<const std::byte> from) {
    // A write only reads the bytes.
    auto* const bytes = const_cast<std::byte*>(from.data());  // NOLINT(*-const-cast)
    ask({.writes = true, .offset = offset, .bytes = bytes, .size = from.size()});
}

// Returns errno, or 0.
int TierFile::move(Work work) const {
    while (work.size > 0) {
        const ssize_t moved = work.writes ? ::pwrite(file_, work.bytes, work.size, work.offset)
                                          : ::pread(file_, work.bytes, work.size, work.offset);
        if (moved < 0 && errno == EINTR) {
            continue;
        }
        if (moved <= 0) {
            return moved < 0 ? errno : EIO;
        }
        work.bytes += moved;
        work.offset += moved;
        work.size -= static_cast<std::size_t>(moved);
    }
    return 0;
}

void TierFile::work_off() {
    std::unique_lock guard{lock_};
    while (true) {
        changed_.wait(guard, [&] { return ends_ || !open_.empty(); });
        if (ends_) {
            return;
        }
        const Work work = open_.front();
        guard.unlock();
        const int error = move(work);
        guard.lock();
        error_ = error_ == 0 ? error : error_;
        open_.pop_front();
        changed_.notify_all();
    }
}

template <class Done>
Result<void> TierFile::wait_until(const Done& done) {
    std::unique_lock guard{lock_};
    changed_.wait(guard, done);
    return error_ == 0 ? Result<void>{}
                       : failed("the file of the optimizer's state failed", error_);
}

Result<void> TierFile::wait(const std::byte* bytes) {
    return wait_until([&] { return std::ranges::count(open_, bytes, &Work::bytes) == 0; });
}

Result<void> TierFile::wait() {
    return wait_until([&] { return open_.empty(); });
}

}  // namespace orrery
