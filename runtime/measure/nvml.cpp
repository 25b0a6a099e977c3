// SPDX-License-Identifier: Apache-2.0
// The used functions and structures of NVML, as documented in the NVML API Reference Guide.
#include "runtime/measure/nvml.h"

#include <dlfcn.h>

#include <array>
#include <memory>

namespace orrery {
namespace {

using Status = int;  // nvmlReturn_t; zero: success
using Handle = void*;
struct Memory {
    unsigned long long total, free, used;
};
constexpr unsigned kMostNvlinks = 18;

class Library {
public:
    explicit Library(const std::string& name)
        : handle_(dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL), &close) {}
    bool is_open() const { return handle_ != nullptr; }

    // A function of the library, or null.
    template <class Function>
    Function* find(const char* name) const {
        return reinterpret_cast<Function*>(dlsym(handle_.get(), name));  // NOLINT(*-reinterpret-*)
    }

private:
    static void close(void* handle) {
        if (handle != nullptr) {
            dlclose(handle);
        }
    }
    std::unique_ptr<void, void (*)(void*)> handle_;
};

// A number of a device; zero if the function is missing or fails.
std::uint32_t number(const Library& library, const char* name, Handle device) {
    const auto get = library.find<Status(Handle, unsigned*)>(name);
    unsigned value = 0;
    return get != nullptr && get(device, &value) == 0 ? value : 0;
}

NvmlGpu describe(const Library& library, Handle device) {
    NvmlGpu gpu;
    std::array<char, 96> name{};
    if (const auto get = library.find<Status(Handle, char*, unsigned)>("nvmlDeviceGetName");
        get != nullptr && get(device, name.data(), name.size() - 1) == 0) {
        gpu.name = name.data();
    }
    Memory memory{};
    if (const auto get = library.find<Status(Handle, Memory*)>("nvmlDeviceGetMemoryInfo");
        get != nullptr && get(device, &memory) == 0) {
        gpu.memory_bytes = memory.total;
    }
    int major = 0;
    int minor = 0;
    if (const auto get =
            library.find<Status(Handle, int*, int*)>("nvmlDeviceGetCudaComputeCapability");
        get != nullptr && get(device, &major, &minor) == 0) {
        gpu.compute_capability = static_cast<std::uint32_t>(10 * major + minor);
    }
    if (const auto get = library.find<Status(Handle, unsigned, int*)>("nvmlDeviceGetNvLinkState")) {
        for (unsigned link = 0; link < kMostNvlinks; ++link) {
            int up = 0;
            gpu.nvlinks += get(device, link, &up) == 0 && up == 1 ? 1 : 0;
        }
    }
    gpu.pcie_generation = number(library, "nvmlDeviceGetMaxPcieLinkGeneration", device);
    gpu.pcie_width = number(library, "nvmlDeviceGetMaxPcieLinkWidth", device);
    return gpu;
}

}  // namespace

Result<std::vector<NvmlGpu>> nvml_gpus(const std::string& name) {
    const Library library{name};
    if (!library.is_open()) {
        return std::vector<NvmlGpu>{};
    }
    const auto init = library.find<Status()>("nvmlInit_v2");
    const auto shutdown = library.find<Status()>("nvmlShutdown");
    const auto count_of = library.find<Status(unsigned*)>("nvmlDeviceGetCount_v2");
    const auto device_of = library.find<Status(unsigned, Handle*)>("nvmlDeviceGetHandleByIndex_v2");
    if (init == nullptr || shutdown == nullptr || count_of == nullptr || device_of == nullptr) {
        return fail(name, "this is not NVIDIA's management library");
    }
    if (init() != 0) {
        return std::vector<NvmlGpu>{};  // the library exists without a driver
    }
    std::vector<NvmlGpu> gpus;
    unsigned count = 0;
    bool good = count_of(&count) == 0;
    for (unsigned i = 0; good && i < count; ++i) {
        Handle device = nullptr;
        good = device_of(i, &device) == 0;
        if (good) {
            gpus.push_back(describe(library, device));
        }
    }
    shutdown();
    return good ? Result<std::vector<NvmlGpu>>{std::move(gpus)}
                : fail(name, "the driver does not tell of its GPUs");
}

}  // namespace orrery
