// SPDX-License-Identifier: Apache-2.0
// The NVIDIA GPUs of this machine. Asking costs a few milliseconds where there is a driver, and
// works on machines without driver, device or a build with CUDA: then the error says which it is.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/result.h"
#include "engine/base/units.h"

namespace orrery {

struct CudaDeviceInfo {
    int ordinal = 0;
    std::string name;  // "NVIDIA H100 80GB HBM3"
    Bytes memory;
    int multiprocessors = 0;
    int compute_capability = 0;  // 90
    std::string pci_bus;
};

// At least one.
Result<std::vector<CudaDeviceInfo>> cuda_devices();

// What NCCL 2.28 has to be told so that more ranks than there are GPUs train on one machine, for
// tests: it refuses two ranks of one host on one device, so every rank says that it is a host of
// its own and talks over loopback sockets. Names and values of environment variables; none if every
// rank has a GPU. Read in NCCL's source (src/init.cc, getHostHash); not tried on hardware yet.
std::vector<std::pair<std::string, std::string>> nccl_environment(std::uint32_t rank,
                                                                  std::uint32_t num_local_ranks,
                                                                  std::size_t num_devices);

// Versions that were built against and that run here: for reports.
std::string cuda_versions();

}  // namespace orrery
