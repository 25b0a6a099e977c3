// SPDX-License-Identifier: Apache-2.0
// Queues for the launches of CUDA kernels' host functions (kernels/<family>/<family>_cuda.h), which
// are templates on the queue. CudaQueue launches on a stream. RecordingQueue records the geometry
// and the scratch memory that a call needs. The tests' queue runs the blocks on the host. Kernels
// of one queue run in order.
#pragma once

#include <algorithm>
#include <vector>

#include "engine/base/check.h"
#include "kernels/cuda/block.h"

struct CUstream_st;  // cudaStream_t is CUstream_st*

namespace orrery::device {

// The largest dynamic shared memory of a block that every supported device has (A100; Hopper has
// 227 KiB). CUDA C++ Programming Guide, table of compute capabilities.
inline constexpr int kSharedBytesMax = 163 * 1024;

// The tensor-core instructions for a kernel that has a choice: none; those of warps (mma.sync);
// those of warpgroups (wgmma, only compute capability 9.0) with the usual tiles or, if there are
// two sizes, with short ones, of which two blocks fit a multiprocessor.
enum class TensorCores : std::uint8_t { none, warps, warpgroups, short_warpgroups };

class CudaQueue {
public:
    // `scratch` is device memory, 16-byte aligned, with the size that RecordingQueue reports.
    CudaQueue(CUstream_st* stream,
              std::byte* scratch,
              std::int64_t scratch_bytes,
              TensorCores tensor_cores = TensorCores::warps)
        : stream_(stream),
          scratch_(scratch),
          scratch_bytes_(scratch_bytes),
          tensor_cores_(tensor_cores) {}

    template <class Kernel>
    void launch(const Kernel& kernel, const Geometry& geometry);  // kernels/cuda/launch.cuh

    // Memory for the rest of this call. A call may ask only once.
    std::byte* scratch(std::int64_t bytes) {
        ORRERY_CHECK(bytes <= scratch_bytes_);
        return scratch_;
    }
    TensorCores tensor_cores() const { return tensor_cores_; }
    // The cudaError_t of the first rejected launch, or 0.
    int error() const { return error_; }

private:
    CUstream_st* stream_;
    std::byte* scratch_;
    std::int64_t scratch_bytes_;
    TensorCores tensor_cores_;
    int error_ = 0;
};

class RecordingQueue {
public:
    template <class Kernel>
    void launch(const Kernel&, const Geometry& geometry) {
        launches_.push_back(geometry);
    }
    std::byte* scratch(std::int64_t bytes) {
        scratch_bytes_ = std::max(scratch_bytes_, bytes);
        return nullptr;
    }
    // No other kind needs more scratch memory than this one.
    TensorCores tensor_cores() const { return TensorCores::warps; }
    const std::vector<Geometry>& launches() const { return launches_; }
    std::int64_t scratch_bytes() const { return scratch_bytes_; }

private:
    std::vector<Geometry> launches_;
    std::int64_t scratch_bytes_ = 0;
};

}  // namespace orrery::device
