// SPDX-License-Identifier: Apache-2.0
// Tensors of a device as the host sees them: copies, made when the host asks, that go back to the
// device before it runs again if the host may have written them. Small ones are in pinned memory
// and stay; large ones (weights, optimizer state) last until the next run.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/cuda/cuda_device.h"
#include "runtime/rank_program.h"

namespace orrery {

// What the host does with a tensor. What is overwritten is not copied from the device first: every
// element of it counts as written.
enum class HostAccess : std::uint8_t { read, change, overwrite };

class HostMirrors {
public:
    HostMirrors(CudaDevice& device, const RankProgram& rank) : device_(device), rank_(rank) {}

    // A tensor that outlives slots; an empty view if the rank has none.
    Result<TensorView> open(TensorId tensor, std::int32_t micro_batch, HostAccess access);
    // What the host may have written, to the device, in the order of the stream.
    Result<void> upload(cudaStream_t stream);
    // The device has run to its end: what it may have written is copied anew when asked for.
    void after_run();

private:
    struct Mirror {
        TensorView host;
        TensorView device;
        std::unique_ptr<std::byte[]> pageable;  // if large
        bool input = false;                     // the device only reads it
        bool fresh = false;
        bool lent = false;  // for writing
    };
    Result<void> allocate(Mirror& mirror);

    CudaDevice& device_;
    const RankProgram& rank_;
    std::map<std::pair<TensorId, std::int32_t>, Mirror> mirrors_;
};

}  // namespace orrery
