// SPDX-License-Identifier: Apache-2.0
#include "scenarios/measure/discovered_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "scenarios/catalogue.h"

namespace orrery {
namespace {

struct GpuName {
    const char* part;     // of what NVML calls it
    double gib_at_least;  // of memory
    const char* device;
};
// The first that fits.
constexpr std::array<GpuName, 11> kGpuNames{{
    {"GB200", 0, "gb200"},
    {"B200", 0, "b200"},
    {"H200", 0, "h200"},
    {"H800", 0, "h800"},
    {"H100", 90, "h100-96g-hbm2e"},
    {"H100", 0, "h100-80g"},
    {"A100", 60, "a100-80g"},
    {"A100", 0, "a100-40g"},
    {"V100", 20, "v100-32g"},
    {"RTX 4090", 0, "rtx-4090"},
    {"RTX 4090 Laptop", 0, "rtx-4090"},
}};

// Of one NVLink and direction, by generation of the GPU: NVIDIA's NVLink overview (25 GB/s from
// Volta to Hopper, 50 GB/s for Blackwell).
double nvlink_gigabytes(std::uint32_t compute_capability) {
    return compute_capability >= 100 ? 50 : 25;
}

// Of one lane and direction, raw: 8, 16, 32, 64 GT/s with 128/130 from generation 3 on.
double pcie_gigabytes(std::uint32_t generation, std::uint32_t width) {
    const double lane = generation >= 5 ? 3.938 : generation == 4 ? 1.969 : 0.985;
    return lane * width;
}

}  // namespace

std::string device_of_gpu(const std::string& name, std::uint64_t memory_bytes) {
    const double gib = static_cast<double>(memory_bytes) / (1 << 30);
    for (const GpuName& known : kGpuNames) {
        if (name.find(known.part) != std::string::npos && gib >= known.gib_at_least) {
            return known.device;
        }
    }
    return {};
}

// The share of one core: memory and its bandwidth are those of the node over its cores.
std::string cpu_cluster(const HostMachine& machine, const MachineRates& rates) {
    std::string device = fmt::format(
        "    device:\n      base: cpu-core\n      peak_fp32: {:.1f} GFLOPS\n"
        "      peak_fp16: {:.1f} GFLOPS          # bf16 is widened to fp32\n"
        "      memory_bandwidth: {:.1f} GB/s\n",
        rates.gemm_fp32.per_second() * 1e-9,
        rates.gemm_fp32.per_second() * 1e-9,
        rates.memory.gigabytes_per_second());
    if (machine.memory_bytes > 0) {
        device +=
            fmt::format("      memory: {} MiB\n", machine.memory_bytes / machine.cores / (1 << 20));
    }
    if (machine.l2_bytes > 0) {
        device += fmt::format("      l2_cache: {} KiB\n", machine.l2_bytes / 1024);
    }
    return fmt::format(
        "cluster:\n  nodes: 1\n  node:                          # {}\n    base: cpu-core\n"
        "    gpus_per_node: {}              # cores\n    num_sockets: {}\n    amd_cpu: {}\n"
        "    pcie_bandwidth: {:.2f} GB/s      # messages between processes\n"
        "    pcie_efficiency: 1\n    pcie_latency: {:.1f} us\n{}",
        machine.words(),
        machine.cores,
        std::min(machine.sockets, machine.cores),
        machine.amd,
        rates.message_bandwidth.gigabytes_per_second(),
        rates.message_latency.microseconds(),
        device);
}

Result<std::string> gpu_cluster(const std::vector<NvmlGpu>& gpus,
                                const std::optional<NcclMachine>& topology) {
    const NvmlGpu& first = gpus.front();
    const std::string device = device_of_gpu(first.name, first.memory_bytes);
    const bool alike =
        std::ranges::all_of(gpus, [&](const NvmlGpu& gpu) { return gpu.name == first.name; });
    if (device.empty() || !alike) {
        return fail(first.name,
                    alike ? "the catalogue has no such GPU" : "the machine's GPUs are not alike",
                    "describe it in a file of scenarios/catalogue/devices");
    }
    const std::uint32_t links = topology ? topology->nvlinks_per_gpu : first.nvlinks;
    const bool has_switch = topology ? topology->nvswitch : gpus.size() > 4;
    std::string text = fmt::format(
        "cluster:\n  nodes: 1\n  node:\n    device: {}               # {}\n    gpus_per_node: {}\n"
        "    intra_node: {}\n    pcie_bandwidth: {:.2f} GB/s      # gen {} x{}, raw\n"
        "    pcie_efficiency: 0.762\n",
        device,
        first.name,
        gpus.size(),
        links == 0   ? "pcie"
        : has_switch ? "nvswitch"
                     : "nvlink_mesh",
        pcie_gigabytes(std::max(first.pcie_generation, 3u), std::max(first.pcie_width, 8u)),
        first.pcie_generation,
        first.pcie_width);
    if (links > 0) {
        text += fmt::format("    nvlink_bandwidth: {:.0f} GB/s     # {} links\n",
                            nvlink_gigabytes(first.compute_capability) * links,
                            links);
        text += fmt::format("    nvls: {}\n", has_switch && first.compute_capability >= 90);
    }
    if (topology) {
        text += fmt::format("    num_sockets: {}\n    amd_cpu: {}\n",
                            std::clamp(topology->sockets, 1u, 2u),
                            topology->amd);
        if (topology->nics > 0) {
            text += fmt::format(
                "  fabric:\n    kind: single_switch\n    nics_per_node: {}\n"
                "    nic_bandwidth: {} Gbps\n",
                topology->nics,
                std::max(topology->nic_megabits / 1000, 1u));
        }
    }
    return text;
}

Result<void> check_filed_under(const std::string& device,
                               const std::string& gpu,
                               std::uint64_t memory_bytes) {
    const std::string own = device_of_gpu(gpu, memory_bytes);
    if (own == device) {
        return {};
    }
    if (!own.empty()) {
        return fail(
            "cluster.node",
            fmt::format("the GPU here is {} ({}), and not the scenario's {}", own, gpu, device),
            "--set '" + node_of_one_gpu(own) + "'");
    }
    const bool of_another = std::ranges::any_of(
        kGpuNames, [&](const GpuName& known) { return known.device == device; });
    return of_another
               ? fail("cluster.node",
                      fmt::format("the GPU here is a {}, and not the scenario's {}", gpu, device),
                      "describe it in a file of scenarios/catalogue/devices")
               : Result<void>{};
}

std::string node_of_one_gpu(const std::string& device) {
    const std::string own = device + "-1gpu";
    std::error_code error;
    const bool is_known =
        std::filesystem::exists(default_catalogue() / "nodes" / (own + ".yaml"), error);
    return "cluster.node=" + (is_known ? own : "{base: h100-1gpu, device: " + device + "}");
}

}  // namespace orrery
