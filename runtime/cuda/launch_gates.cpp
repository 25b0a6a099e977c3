// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/launch_gates.h"

#include <algorithm>
#include <thread>

#include "runtime/cuda/cuda_result.h"

namespace orrery {

// Runs on a thread of the driver and holds up the stream.
void LaunchGates::wait(void* gate) {
    auto& own = *static_cast<Gate*>(gate);
    const auto latest = std::chrono::steady_clock::now() + kLongestClosed;
    while (!own.open.load(std::memory_order_acquire)) {
        if (std::chrono::steady_clock::now() >= latest) {
            own.late.store(true, std::memory_order_relaxed);
            return;
        }
        std::this_thread::yield();
    }
}

Result<void> LaunchGates::close(cudaStream_t stream) {
    auto next = std::make_unique<Gate>();
    const Result<void> done =
        cuda_result(cudaLaunchHostFunc(stream, &LaunchGates::wait, next.get()), "timing kernels");
    open();
    if (done) {
        closed_ = std::move(next);
    }
    return done;
}

void LaunchGates::open() {
    if (closed_) {
        closed_->open.store(true, std::memory_order_release);
        opened_.push_back(std::move(closed_));  // the device may read it until the end
    }
}

void LaunchGates::forget() {
    late_ += std::ranges::count_if(opened_, [](const auto& gate) { return gate->late.load(); });
    opened_.clear();
}

}  // namespace orrery
