// SPDX-License-Identifier: Apache-2.0
// Gates at which the device waits while the host enqueues launches, so that what lies between two
// timing events is the kernel and not the host. A gate opens by itself after a while: where the
// host had to wait for room in a stream behind a closed gate, nothing else would ever open it. Such
// a gate costs accuracy, and is counted.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/base/result.h"

namespace orrery {

class LaunchGates {
public:
    static constexpr std::chrono::milliseconds kLongestClosed{20};

    LaunchGates() = default;
    LaunchGates(const LaunchGates&) = delete;
    LaunchGates& operator=(const LaunchGates&) = delete;
    ~LaunchGates() { open(); }

    // Closes a gate behind what the stream was given, and opens the one before it.
    Result<void> close(cudaStream_t stream);
    void open();
    // The device has passed all gates: it looks at none of them any more.
    void forget();
    // The number of forgotten gates that opened by themselves.
    std::int64_t late() const { return late_; }

private:
    struct Gate {
        std::atomic<bool> open{false};
        std::atomic<bool> late{false};
    };
    static void wait(void* gate);

    std::unique_ptr<Gate> closed_;
    std::vector<std::unique_ptr<Gate>> opened_;
    std::int64_t late_ = 0;
};

}  // namespace orrery
