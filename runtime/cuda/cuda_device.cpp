// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_device.h"

#include <fmt/format.h>

#include <thread>

#include "runtime/cuda/cuda_result.h"
#include "runtime/cuda/driver_devices.h"

namespace orrery {

Patience patience(std::chrono::milliseconds deadline) {
    constexpr std::chrono::microseconds kSpin{200};
    return {.deadline = deadline, .spin = kSpin, .pause = [] {
                std::this_thread::sleep_for(std::chrono::microseconds{20});
            }};
}

Result<std::unique_ptr<CudaDevice>> CudaDevice::open(const CudaDeviceInfo& info) {
    std::unique_ptr<CudaDevice> device{new CudaDevice(info)};
    if (Result<void> set = cuda_result(cudaSetDevice(info.ordinal), info.name); !set) {
        return unexpected<Error>(set.error());
    }
    int least = 0;
    int greatest = 0;
    cudaDeviceGetStreamPriorityRange(&least, &greatest);
    for (std::size_t s = 0; s < kNumStreams; ++s) {
        const int priority = to_id<StreamId>(s) == kComputeStream ? least : greatest;
        const Result<void> made = cuda_result(
            cudaStreamCreateWithPriority(&device->streams_[s], cudaStreamNonBlocking, priority),
            "a stream of " + info.name);
        if (!made) {
            return unexpected<Error>(made.error());
        }
    }
    return device;
}

Result<std::unique_ptr<CudaDevice>> CudaDevice::open_ordinal(int ordinal) {
    const auto devices = driver_devices();
    if (!devices) {
        return unexpected<Error>(devices.error());
    }
    if (ordinal >= static_cast<int>(devices->size())) {
        return fail("",
                    fmt::format("GPU {} is asked for, and {} answer", ordinal, devices->size()));
    }
    return open((*devices)[static_cast<std::size_t>(ordinal)]);
}

CudaDevice::~CudaDevice() {
    if (abandoned_) {
        return;
    }
    cudaSetDevice(info_.ordinal);
    for (const cudaStream_t stream : streams_) {
        if (stream != nullptr) {
            cudaStreamDestroy(stream);
        }
    }
    for (const cudaEvent_t event : events_) {
        cudaEventDestroy(event);
    }
    for (void* memory : device_memory_) {
        cudaFree(memory);
    }
    for (void* memory : pinned_memory_) {
        cudaFreeHost(memory);
    }
}

Result<std::byte*> CudaDevice::allocate(std::int64_t bytes,
                                        const std::string& what,
                                        const std::string& hint) {
    if (bytes == 0) {
        return nullptr;
    }
    void* memory = nullptr;
    const cudaError_t error = cudaMalloc(&memory, static_cast<std::size_t>(bytes));
    if (error == cudaErrorMemoryAllocation) {
        std::size_t available = 0;
        std::size_t total = 0;
        cudaGetLastError();
        cudaMemGetInfo(&available, &total);
        return fail("",
                    fmt::format("{} needs {:.2f} GiB, and {} has {:.2f} GiB left of {:.2f}",
                                what,
                                static_cast<double>(bytes) / 0x1p30,
                                info_.name,
                                static_cast<double>(available) / 0x1p30,
                                static_cast<double>(total) / 0x1p30),
                    hint);
    }
    if (Result<void> done = cuda_result(error, what); !done) {
        return unexpected<Error>(done.error());
    }
    device_memory_.push_back(memory);
    return static_cast<std::byte*>(memory);
}

Result<std::byte*> CudaDevice::allocate_pinned(std::int64_t bytes) {
    void* memory = nullptr;
    const Result<void> done =
        cuda_result(cudaHostAlloc(&memory, static_cast<std::size_t>(bytes), cudaHostAllocDefault),
                    "pinned memory of the host");
    if (!done) {
        return unexpected<Error>(done.error());
    }
    pinned_memory_.push_back(memory);
    return static_cast<std::byte*>(memory);
}

Result<cudaEvent_t> CudaDevice::make_event(bool timed) {
    cudaEvent_t event = nullptr;
    const Result<void> done = cuda_result(
        cudaEventCreateWithFlags(&event, timed ? cudaEventDefault : cudaEventDisableTiming),
        "an event of " + info_.name);
    if (!done) {
        return unexpected<Error>(done.error());
    }
    events_.push_back(event);
    return event;
}

}  // namespace orrery
