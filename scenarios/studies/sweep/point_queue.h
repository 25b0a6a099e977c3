// SPDX-License-Identifier: Apache-2.0
// One counter from which all workers of a sweep take their next point. No point is taken twice or
// left out, and a fast worker takes more points.
#pragma once

#include <atomic>
#include <cstdint>

namespace orrery {

class PointQueue {
public:
    virtual ~PointQueue() = default;
    // Returns 0, 1, 2 …, each number to one worker.
    virtual std::int64_t next() = 0;
};

// For processes that this process forks: the counter is in shared memory.
class SharedMemoryQueue final : public PointQueue {
public:
    static constexpr std::int64_t kIdle = -1;

    explicit SharedMemoryQueue(std::uint32_t workers);
    ~SharedMemoryQueue() override;
    SharedMemoryQueue(const SharedMemoryQueue&) = delete;
    SharedMemoryQueue& operator=(const SharedMemoryQueue&) = delete;

    std::int64_t next() override { return counter()->fetch_add(1); }
    std::int64_t taken() const { return counter()->load(); }
    // The present point of a worker, which is read after the worker has died.
    std::atomic<std::int64_t>& point_of(std::uint32_t worker) const;

private:
    std::atomic<std::int64_t>* counter() const { return values_; }

    std::uint32_t workers_;
    std::atomic<std::int64_t>* values_;
};

}  // namespace orrery
