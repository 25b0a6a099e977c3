// SPDX-License-Identifier: Apache-2.0
// The host's copies of tensors of a device. A copy is made on request, and returns to the device
// before the next run if the host may have written it. Small copies are in pinned memory and stay;
// large ones (weights, optimizer state) last until the next run.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/cuda/cuda_device.h"
#include "runtime/rank_program.h"

namespace orrery {

// The host's access to a tensor. For `overwrite` the tensor is not copied from the device first,
// and all its elements count as written.
enum class HostAccess : std::uint8_t { read, change, overwrite };

class HostMirrors {
public:
    HostMirrors(CudaDevice& device, const RankProgram& rank) : device_(device), rank_(rank) {}

    // The copy of a tensor that outlives slots; an empty view if the rank has none.
    Result<TensorView> open(TensorId tensor, std::int32_t micro_batch, HostAccess access);
    // Copies the tensors that the host may have written to the device, in stream order.
    Result<void> upload(cudaStream_t stream);
    // Call it after a run: copies of tensors that the device may have written are then outdated.
    void after_run();

private:
    struct Mirror {
        TensorView host;
        TensorView device;
        std::unique_ptr<std::byte[]> pageable;  // if large
        bool input = false;                     // read-only for the device
        bool fresh = false;
        bool lent = false;  // lent to the host for writing
    };
    Result<void> allocate(Mirror& mirror);

    CudaDevice& device_;
    const RankProgram& rank_;
    std::map<std::pair<TensorId, std::int32_t>, Mirror> mirrors_;
};

}  // namespace orrery
