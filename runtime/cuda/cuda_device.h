// SPDX-License-Identifier: Apache-2.0
// One GPU of an executor: its memory, a CUDA stream for every stream of a Program, and events.
// Streams that communicate have a higher priority than the compute stream, because a transfer that
// waits for an SM delays other ranks. The destructor frees everything.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "engine/base/result.h"
#include "engine/program/program.h"
#include "models/segments/segment_builder.h"
#include "runtime/cuda/devices.h"
#include "runtime/cuda/nccl_communicators.h"

namespace orrery {

// How a host waits for its device and the other ranks: at once for the time in which a group of
// collectives is enqueued, then with a look every 20 us.
Patience patience(std::chrono::milliseconds deadline);

class CudaDevice {
public:
    static Result<std::unique_ptr<CudaDevice>> open(const CudaDeviceInfo& info);
    // An error if the machine has no GPU of this number.
    static Result<std::unique_ptr<CudaDevice>> open_ordinal(int ordinal);
    ~CudaDevice();
    CudaDevice(const CudaDevice&) = delete;
    CudaDevice& operator=(const CudaDevice&) = delete;

    const CudaDeviceInfo& info() const { return info_; }
    cudaStream_t stream(StreamId id) const { return streams_[index(id)]; }

    // Device memory; a null pointer for zero bytes. If there is too little memory, the error has
    // the figures and `hint`, the settings by which the caller needs less.
    Result<std::byte*> allocate(std::int64_t bytes,
                                const std::string& what,
                                const std::string& hint);
    // Pinned host memory, which the device copies from and to without the host's help.
    Result<std::byte*> allocate_pinned(std::int64_t bytes);
    // `timed`: the event also records its time.
    Result<cudaEvent_t> make_event(bool timed);

    // The device does not finish its work. Nothing is freed then, because that would wait for it.
    void abandon() { abandoned_ = true; }
    bool is_abandoned() const { return abandoned_; }

private:
    explicit CudaDevice(const CudaDeviceInfo& info) : info_(info) {}

    CudaDeviceInfo info_;
    std::array<cudaStream_t, kNumStreams> streams_{};
    std::vector<void*> device_memory_;
    std::vector<void*> pinned_memory_;
    std::vector<cudaEvent_t> events_;
    bool abandoned_ = false;
};

}  // namespace orrery
