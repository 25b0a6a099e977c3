// SPDX-License-Identifier: Apache-2.0
// The limits of a device from its datasheet, read from scenarios/catalogue/devices/*.yaml, which
// has the source of every figure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/units.h"
#include "engine/program/kernel_call.h"

namespace orrery {

// Host time of one operator of an eager framework on an x86 server. It is an assumption, also used
// for the launch_cost of the catalogue's devices on such servers.
inline constexpr Time kEagerOperator = Time::picoseconds(5'000'000);

struct DeviceSpec {
    std::string name;                       // "a100-80g"
    std::string generation;                 // "volta", "ampere", "hopper", "blackwell", "cpu"
    std::uint32_t compute_capability = 80;  // 70, 80, 90, 100
    std::uint32_t num_sms = 108;
    FlopRate peak_fp32;  // CUDA cores (TF32 tensor cores where they exist)
    FlopRate peak_fp16;  // dense tensor core, fp16 and bf16
    bool bf16 = true;    // whether it supports bf16
    FlopRate peak_fp8;   // 0: no fp8
    FlopRate peak_fp4;   // 0: no fp4
    // Attention kernels that exist for it, spelled as in plan.attention_kernel; empty: all.
    std::vector<std::string> attention_kernels{};
    Bandwidth memory_bandwidth;  // HBM
    Bytes memory;                // HBM capacity
    // A device's share of its server's memory bandwidth, reads and writes together; zero: unknown.
    Bandwidth host_memory_bandwidth{};
    Time kernel_latency;     // time of an empty kernel on the device
    Time launch_cost;        // host time of one launch in an eager framework
    Time graph_launch_cost;  // of one kernel replayed from a CUDA graph
    // For a wafer with a mesh of cores (kernels/core_mesh.h); 0: none. A message takes the hop
    // latency per core, and the step latency at a core that adds to it.
    std::uint32_t core_mesh_rows = 0;
    std::uint32_t core_mesh_columns = 0;
    Time core_hop_latency{};
    Time core_step_latency{};
    Bandwidth core_link_bandwidth{};  // between neighbours, in each direction
    std::int64_t power = 0;           // power of the product in watts; 0: unknown
    std::int64_t power_limit = 0;     // limit in watts (nvidia-smi -pl); 0: no limit

    bool operator==(const DeviceSpec&) const = default;

    FlopRate peak(Dtype dtype) const {
        switch (dtype) {
            case Dtype::fp32:
                return peak_fp32;
            case Dtype::fp8:
                return peak_fp8.per_second() > 0 ? peak_fp8 : peak_fp16;
            default:
                return peak_fp16;
        }
    }
};

}  // namespace orrery
