// SPDX-License-Identifier: Apache-2.0
// The NVIDIA GPUs of this machine. The query takes a few milliseconds if there is a driver. It also
// works without a driver, a device or a build with CUDA: the error then names what is missing.
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

// At least one GPU.
Result<std::vector<CudaDeviceInfo>> cuda_devices();

// Environment variables (names and values) with which NCCL 2.28 lets more ranks than GPUs train on
// one machine, for tests. NCCL refuses two ranks of one host on one device, so that every rank
// claims to be a host of its own and uses loopback sockets. Empty if every rank has a GPU. Derived
// from NCCL's source (src/init.cc, getHostHash); not yet tried on hardware.
std::vector<std::pair<std::string, std::string>> nccl_environment(std::uint32_t rank,
                                                                  std::uint32_t num_local_ranks,
                                                                  std::size_t num_devices);

// The versions that were built against, and the versions present: for reports.
std::string cuda_versions();

}  // namespace orrery
