// SPDX-License-Identifier: Apache-2.0
#include "scenarios/search/cluster_costs.h"

#include <bit>

#include "network/fabric.h"
#include "scenarios/catalogue.h"
#include "scenarios/simulate/kernel_timings.h"

namespace orrery {
namespace {

std::vector<std::int64_t> key_of(const KernelCall& call) {
    std::vector<std::int64_t> key{static_cast<std::int64_t>(call.kind),
                                  static_cast<std::int64_t>(call.dtype),
                                  call.variant,
                                  std::bit_cast<std::int64_t>(call.flop),
                                  call.bytes};
    key.insert(key.end(), call.dims.begin(), call.dims.end());
    return key;
}

}  // namespace

Result<CostTables> CostTables::read() {
    const auto read = [](const char* file) {
        return read_efficiency_table((default_catalogue() / file).string());
    };
    auto curves = read("kernel_efficiency.csv");
    auto step = read("step_efficiency.csv");
    if (!curves || !step) {
        return tl::unexpected((curves ? step : curves).error().front());
    }
    return CostTables{std::move(*curves), std::move(*step)};
}

ClusterCosts::ClusterCosts(Fabric fabric,
                           const ClusterSpec& cluster,
                           const DeviceSpec& device,
                           const EfficiencyTable& curves,
                           const EfficiencyTable& step)
    : device_(device),
      network_(std::move(fabric),
               NcclNetworkOptions{.compute_capability = device.compute_capability,
                                  .num_sms = device.num_sms,
                                  .contention = false}),
      cost_(device_, curves),
      step_(step, device_),
      slowest_(step_.slowest_of(cluster.num_ranks()) * slowest_server(cluster.slow_node_share,
                                                                      cluster.slow_node_slowdown,
                                                                      cluster.num_servers())) {}

Result<std::unique_ptr<ClusterCosts>> ClusterCosts::make(const ClusterSpec& cluster,
                                                         const DeviceSpec& device,
                                                         const EfficiencyTable& curves,
                                                         const EfficiencyTable& step) {
    Result<Fabric> fabric = build_fabric(cluster);
    if (!fabric) {
        return tl::unexpected(fabric.error());
    }
    return std::unique_ptr<ClusterCosts>(
        new ClusterCosts(std::move(*fabric), cluster, device, curves, step));
}

DeviceTimings ClusterCosts::mean_device(const Program& program) const {
    return time_kernels(program, cost_, step_, device_, 1.0);
}

DeviceTimings ClusterCosts::slowest_device(const Program& program) const {
    DeviceTimings timings;
    timings.num_sms = device_.num_sms;
    timings.kernels.reserve(program.kernels.size());
    const std::scoped_lock lock(mutex_);
    for (const KernelCall& call : program.kernels) {
        const auto [found, fresh] = known_.try_emplace(key_of(call));
        if (fresh) {
            Program alone;
            alone.kernels = {call};
            found->second = time_kernels(alone, cost_, step_, device_, slowest_).kernels.front();
        }
        timings.kernels.push_back(found->second);
    }
    return timings;
}

}  // namespace orrery
