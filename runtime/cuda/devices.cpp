// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/devices.h"

#include <fmt/format.h>

#include "runtime/cuda/cuda_module.h"

namespace orrery {

std::vector<std::pair<std::string, std::string>> nccl_environment(std::uint32_t rank,
                                                                  std::uint32_t num_local_ranks,
                                                                  std::size_t num_devices) {
    if (num_local_ranks <= num_devices) {
        return {};
    }
    return {{"NCCL_HOSTID", fmt::format("rank{}", rank)},
            {"NCCL_SOCKET_IFNAME", "lo"},
            {"NCCL_NET", "Socket"},
            {"NCCL_MAX_NCHANNELS", "2"},
            {"NCCL_MNNVL_ENABLE", "0"}};
}

Result<std::vector<CudaDeviceInfo>> cuda_devices() {
    const auto& module = cuda_module();
    if (!module) {
        return unexpected<Error>(module.error());
    }
    Result<std::vector<CudaDeviceInfo>> devices;
    module->devices(devices);
    return devices;
}

std::string cuda_versions() {
    std::string versions = "built without CUDA";
    if (const auto& module = cuda_module()) {
        module->versions(versions);
    }
    return versions;
}

}  // namespace orrery
