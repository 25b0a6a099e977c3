// SPDX-License-Identifier: Apache-2.0
// Memory of a rank on a drive: a file without a name that vanishes with the process. Its space is
// allocated at the start, so that a full disk is an error there. A thread reads and writes in the
// order of the requests while the rank computes. A mapping of the whole file also shows the written
// data.
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
    // Creates it in this folder, which is made if it is missing. Error::where is
    // job.offload_folder.
    static Result<std::unique_ptr<TierFile>> create(const std::filesystem::path& folder,
                                                    std::int64_t bytes);
    ~TierFile();
    TierFile(const TierFile&) = delete;
    TierFile& operator=(const TierFile&) = delete;

    // Initially zeros. Not to be used while a request is in progress: see wait().
    std::span<std::byte> bytes() { return {data_, size_}; }

    // Start to read or write at `offset`. The bytes must not be used until wait().
    void read(std::int64_t offset, std::span<std::byte> into);
    void write(std::int64_t offset, std::span<const std::byte> from);
    // Waits for all requests with these bytes, or for all requests. Returns the first error of any
    // request.
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
    std::deque<Work> open_;  // the first request is in progress
    int error_ = 0;          // errno of the first failed request
    bool ends_ = false;
    std::thread thread_;
};

}  // namespace orrery
