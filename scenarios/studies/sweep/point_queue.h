// SPDX-License-Identifier: Apache-2.0
// One counter that all workers of a sweep take their next point from: no point twice, none left
// out, and a worker that is done early takes more.
#pragma once

#include <atomic>
#include <cstdint>

namespace orrery {

class PointQueue {
public:
    virtual ~PointQueue() = default;
    // 0, 1, 2 …, each to one worker.
    virtual std::int64_t next() = 0;
};

// Of the processes that this one forks: the counter lies in memory that they share.
class SharedMemoryQueue final : public PointQueue {
public:
    static constexpr std::int64_t kIdle = -1;

    explicit SharedMemoryQueue(std::uint32_t workers);
    ~SharedMemoryQueue() override;
    SharedMemoryQueue(const SharedMemoryQueue&) = delete;
    SharedMemoryQueue& operator=(const SharedMemoryQueue&) = delete;

    std::int64_t next() override { return counter()->fetch_add(1); }
    std::int64_t taken() const { return counter()->load(); }
    // The point that a worker is at, to be looked up if the worker is found dead.
    std::atomic<std::int64_t>& point_of(std::uint32_t worker) const;

private:
    std::atomic<std::int64_t>* counter() const { return values_; }

    std::uint32_t workers_;
    std::atomic<std::int64_t>* values_;
};

}  // namespace orrery
