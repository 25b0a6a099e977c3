// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/driver_devices.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <array>

namespace orrery {
namespace {

std::string version_text(int version) {
    return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

// Hints for the most common reasons why no device answers.
std::string hint_for(cudaError_t error) {
    switch (error) {
        case cudaErrorInsufficientDriver:
            return "the driver is missing, or older than the CUDA of this build";
        case cudaErrorNoDevice:
            return "no GPU is visible: look at nvidia-smi and CUDA_VISIBLE_DEVICES";
        default:
            return {};
    }
}

}  // namespace

Result<std::vector<CudaDeviceInfo>> driver_devices() {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count == 0) {
        const cudaError_t why = error == cudaSuccess ? cudaErrorNoDevice : error;
        return fail("", fmt::format("no GPU answers: {}", cudaGetErrorString(why)), hint_for(why));
    }
    std::vector<CudaDeviceInfo> devices;
    for (int i = 0; i < count; ++i) {
        cudaDeviceProp properties{};
        if (const cudaError_t failed = cudaGetDeviceProperties(&properties, i);
            failed != cudaSuccess) {
            return fail("", fmt::format("GPU {}: {}", i, cudaGetErrorString(failed)));
        }
        std::array<char, 32> bus{};
        cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), i);
        devices.push_back({.ordinal = i,
                           .name = properties.name,
                           .memory = Bytes{static_cast<std::int64_t>(properties.totalGlobalMem)},
                           .multiprocessors = properties.multiProcessorCount,
                           .compute_capability = 10 * properties.major + properties.minor,
                           .pci_bus = bus.data()});
    }
    return devices;
}

std::string driver_versions() {
    int driver = 0;
    int runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    return fmt::format("CUDA {} (the driver: {})",
                       version_text(runtime),
                       driver == 0 ? std::string{"none"} : version_text(driver));
}

}  // namespace orrery
