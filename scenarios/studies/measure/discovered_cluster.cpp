// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/measure/discovered_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "runtime/cuda/devices.h"
#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/read/device_names.h"

namespace orrery {
namespace {

// Bandwidth of one NVLink per direction by generation of the GPU: 25 GB/s from Volta to Hopper, 50
// GB/s for Blackwell (NVIDIA's NVLink overview).
double nvlink_gigabytes(std::uint32_t compute_capability) {
    return compute_capability >= 100 ? 50 : 25;
}

// Raw bandwidth per lane and direction: 8, 16, 32, 64 GT/s with 128/130 from generation 3 on.
double pcie_gigabytes(std::uint32_t generation, std::uint32_t width) {
    const double lane = generation >= 5 ? 3.938 : generation == 4 ? 1.969 : 0.985;
    return lane * width;
}

}  // namespace

// A core is a device with its share of the node's memory and memory bandwidth.
DocumentNode cpu_cluster(const HostMachine& machine, const MachineRates& rates) {
    DocumentNode document;
    const auto set = [&](const char* key, std::string value, std::string remark = {}) {
        put(document,
            std::string{"cluster."} + key,
            scalar_node(std::move(value), std::move(remark)));
    };
    set("nodes", "1", machine.words());
    set("node.base", "cpu-core");
    set("node.gpus_per_node", fmt::format("{}", machine.cores), "cores");
    set("node.num_sockets", fmt::format("{}", std::min(machine.sockets, machine.cores)));
    set("node.amd_cpu", fmt::format("{}", machine.amd));
    set("node.pcie_bandwidth",
        fmt::format("{:.2f} GB/s", rates.message_bandwidth.gigabytes_per_second()),
        "messages between processes");
    set("node.pcie_efficiency", "1");
    set("node.pcie_latency", fmt::format("{:.1f} us", rates.message_latency.microseconds()));
    const std::string flops = fmt::format("{:.1f} GFLOPS", rates.gemm_fp32.per_second() * 1e-9);
    set("node.device.base", "cpu-core");
    set("node.device.peak_fp32", flops);
    set("node.device.peak_fp16", flops, "bf16 is widened to fp32");
    set("node.device.memory_bandwidth",
        fmt::format("{:.1f} GB/s", rates.memory.gigabytes_per_second()));
    if (machine.memory_bytes > 0) {
        set("node.device.memory",
            fmt::format("{} MiB", machine.memory_bytes / machine.cores / (1 << 20)));
    }
    return document;
}

Result<DocumentNode> gpu_cluster(const std::vector<NvmlGpu>& gpus,
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
    DocumentNode document;
    const auto set = [&](const char* key, std::string value, std::string remark = {}) {
        put(document,
            std::string{"cluster."} + key,
            scalar_node(std::move(value), std::move(remark)));
    };
    set("nodes", "1");
    set("node.device", device, first.name);
    set("node.gpus_per_node", fmt::format("{}", gpus.size()));
    set("node.intra_node", links == 0 ? "pcie" : has_switch ? "nvswitch" : "nvlink_mesh");
    set("node.pcie_bandwidth",
        fmt::format(
            "{:.2f} GB/s",
            pcie_gigabytes(std::max(first.pcie_generation, 3u), std::max(first.pcie_width, 8u))),
        fmt::format("gen {} x{}, raw", first.pcie_generation, first.pcie_width));
    set("node.pcie_efficiency", "0.762");
    if (links > 0) {
        set("node.nvlink_bandwidth",
            fmt::format("{:.0f} GB/s", nvlink_gigabytes(first.compute_capability) * links),
            fmt::format("{} links", links));
        set("node.nvls", fmt::format("{}", has_switch && first.compute_capability >= 90));
    }
    if (topology) {
        set("node.num_sockets", fmt::format("{}", std::clamp(topology->sockets, 1u, 2u)));
        set("node.amd_cpu", fmt::format("{}", topology->amd));
        if (topology->nics > 0) {
            set("fabric.kind", "single_switch");
            set("fabric.nics_per_node", fmt::format("{}", topology->nics));
            set("fabric.nic_bandwidth",
                fmt::format("{} Gbps", std::max(topology->nic_megabits / 1000, 1u)));
        }
    }
    return document;
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
    return names_a_gpu(device)
               ? fail("cluster.node",
                      fmt::format("the GPU here is a {}, and not the scenario's {}", gpu, device),
                      "describe it in a file of scenarios/catalogue/devices")
               : Result<void>{};
}

Result<void> check_gpu_is(const std::string& device) {
    const auto devices = cuda_devices();
    if (!devices) {
        return unexpected<Error>(devices.error());
    }
    const CudaDeviceInfo& first = devices->front();
    return check_filed_under(device, first.name, static_cast<std::uint64_t>(first.memory.count()));
}

std::string node_of_one_gpu(const std::string& device) {
    const std::string own = device + "-1gpu";
    std::error_code error;
    const bool is_known =
        std::filesystem::exists(default_catalogue() / "nodes" / (own + ".yaml"), error);
    return "cluster.node=" + (is_known ? own : "{base: h100-1gpu, device: " + device + "}");
}

}  // namespace orrery
