// SPDX-License-Identifier: Apache-2.0
// Memory of a rank on a drive: a file without a name, which vanishes with the process. Its space is
// taken at the beginning, so that a full disk is an error there. A thread of its own reads and
// writes while the rank computes, in the order in which it was asked to. What has been written is
// seen through a mapping of the whole file, too.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

#include "engine/base/result.h"

namespace orrery {

class TierFile {
public:
    // In this folder, which is made if need be. Error::where is job.offload_folder.
    static Result<std::unique_ptr<TierFile>> create(const std::filesystem::path& folder,
                                                    std::int64_t bytes);
    ~TierFile();
    TierFile(const TierFile&) = delete;
    TierFile& operator=(const TierFile&) = delete;

    // Zeros at first. Not while something is read or written: wait().
    std::span<std::byte> bytes() { return {data_, size_}; }

    // Begin to read what lies at `offset`, or to write it; the bytes belong to the file until
    // wait().
    void read(std::int64_t offset, std::span<std::byte> into);
    void write(std::int64_t offset, std::span<const std::byte> from);
    // Until all that was asked for with these bytes has ended, or all; the first error of any.
    Result<void> wait(const std::byte* bytes);
    Result<void> wait();

private:
    struct Work {
        bool writes = false;
        std::int64_t offset = 0;
        std::byte* bytes = nullptr;
        std::size_t size = 0;
    };

    TierFile(int file, std::byte* data, std::size_t size);
    void ask(const Work& work);
    void work_off();
    int move(Work work) const;
    template <class Done>
    Result<void> wait_until(const Done& done);

    int file_;
    std::byte* data_;
    std::size_t size_;
    std::mutex lock_;
    std::condition_variable changed_;
    std::deque<Work> open_;  // the first is under way
    int error_ = 0;          // errno of the first that failed
    bool ends_ = false;
    std::thread thread_;
};

}  // namespace orrery
