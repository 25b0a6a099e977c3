// SPDX-License-Identifier: Apache-2.0
// Gates at which the device waits while the host enqueues launches, so that timing events measure
// the kernel and not the host. A gate opens by itself after a while: if the host waits for room in
// a stream behind a closed gate, nothing else could open it. Such late gates reduce the accuracy
// and are counted.
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

    // Enqueues a closed gate on the stream, and opens the gate before it.
    Result<void> close(cudaStream_t stream);
    void open();
    // The device has passed all gates and no longer reads them.
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
