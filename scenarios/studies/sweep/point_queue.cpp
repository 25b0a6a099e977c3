// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/sweep/point_queue.h"

#include <sys/mman.h>

#include <new>

#include "engine/base/check.h"

namespace orrery {
namespace {

using SharedCount = std::atomic<std::int64_t>;
static_assert(SharedCount::is_always_lock_free, "processes share it");

std::size_t bytes_of(std::uint32_t workers) {
    return (std::size_t{workers} + 1) * sizeof(SharedCount);
}

}  // namespace

SharedMemoryQueue::SharedMemoryQueue(std::uint32_t workers) : workers_(workers) {
    void* memory =
        mmap(nullptr, bytes_of(workers), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        throw std::bad_alloc{};
    }
    values_ = static_cast<SharedCount*>(memory);
    new (values_) SharedCount{0};
    for (std::uint32_t worker = 0; worker < workers; ++worker) {
        new (values_ + 1 + worker) SharedCount{kIdle};
    }
}

SharedMemoryQueue::~SharedMemoryQueue() {
    munmap(values_, bytes_of(workers_));
}

std::atomic<std::int64_t>& SharedMemoryQueue::point_of(std::uint32_t worker) const {
    ORRERY_CHECK(worker < workers_);
    return values_[1 + worker];
}

}  // namespace orrery
