// SPDX-License-Identifier: Apache-2.0
// Memory on the GPU for tests/gpu, and CUDA errors as exceptions: one ends the family of cases that
// meets it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace orrery::gpu_check {

struct CudaFailure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline void require(cudaError_t error, const std::string& what) {
    if (error != cudaSuccess) {
        throw CudaFailure{what + ": " + cudaGetErrorString(error)};
    }
}

class DeviceMemory {
public:
    DeviceMemory() = default;
    explicit DeviceMemory(std::int64_t bytes) {
        require(cudaMalloc(&data_, static_cast<std::size_t>(bytes)), "memory of the GPU");
    }
    DeviceMemory(DeviceMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
    DeviceMemory& operator=(DeviceMemory&& other) noexcept {
        std::swap(data_, other.data_);
        return *this;
    }
    ~DeviceMemory() { cudaFree(data_); }
    std::byte* data() const { return static_cast<std::byte*>(data_); }

private:
    void* data_ = nullptr;
};

inline int multiprocessors() {
    int count = 0;
    require(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0), "the device");
    return count;
}

}  // namespace orrery::gpu_check
