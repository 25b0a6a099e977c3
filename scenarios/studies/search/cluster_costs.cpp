// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/cluster_costs.h"

#include <algorithm>
#include <bit>

#include "engine/base/splitmix.h"
#include "network/fabric/fabric.h"
#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/specs/calibration.h"
#include "scenarios/format/specs/node_devices.h"
#include "scenarios/studies/simulate/kernel_timings.h"

namespace orrery {

ClusterCosts::CallKey ClusterCosts::key_of(const KernelCall& call) {
    CallKey key{static_cast<std::int64_t>(call.tier) << 24 |
                    static_cast<std::int64_t>(call.kind) << 16 |
                    static_cast<std::int64_t>(call.dtype) << 8 | call.variant,
                std::bit_cast<std::int64_t>(call.flop),
                call.bytes};
    std::ranges::copy(call.dims, key.begin() + 3);
    return key;
}

std::size_t ClusterCosts::CallHash::operator()(const CallKey& key) const {
    std::uint64_t hash = 0;
    for (const std::int64_t part : key) {
        hash = splitmix64(hash ^ static_cast<std::uint64_t>(part));
    }
    return hash;
}

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
                           const EfficiencyTable& step,
                           const std::vector<DeviceSpec>& devices)
    : network_(std::move(fabric), [&] {
          NcclNetworkOptions options = nccl_options(device, devices);
          options.contention = false;
          return options;
      }()) {
    for (const DeviceSpec& one : devices.empty() ? std::vector<DeviceSpec>{device} : devices) {
        kinds_.push_back(std::make_unique<const Kind>(one, curves, step));
    }
    const double communication =
        calibrated_factor(step, calibration_factor("communication"), device.generation);
    if (communication != 1) {
        calibrated_.emplace(network_, communication);
    }
    step_ = calibrated_step(step, device.generation);
    slowest_ =
        kinds_.front()->step.slowest_of(cluster.num_ranks()) *
        slowest_server(cluster.slow_node_share, cluster.slow_node_slowdown, cluster.num_servers());
}

Result<std::unique_ptr<ClusterCosts>> ClusterCosts::make(const ClusterSpec& cluster,
                                                         const DeviceSpec& device,
                                                         const EfficiencyTable& curves,
                                                         const EfficiencyTable& step,
                                                         const std::vector<DeviceSpec>& devices) {
    Result<Fabric> fabric = build_fabric(cluster);
    if (!fabric) {
        return tl::unexpected(fabric.error());
    }
    return std::unique_ptr<ClusterCosts>(
        new ClusterCosts(std::move(*fabric), cluster, device, curves, step, devices));
}

DeviceTimings ClusterCosts::mean_device(const Program& program, std::size_t kind) const {
    const Kind& of = *kinds_[kind];
    return time_kernels(program, of.cost, of.step, of.device, 1.0);
}

DeviceTimings ClusterCosts::slowest_device(const Program& program) const {
    const Kind& of = *kinds_.front();
    DeviceTimings timings;
    timings.num_sms = of.device.num_sms;
    timings.kernels.reserve(program.kernels.size());
    const std::scoped_lock lock(mutex_);
    for (const KernelCall& call : program.kernels) {
        const auto [found, fresh] = known_.try_emplace(key_of(call));
        if (fresh) {
            Program alone;
            alone.kernels = {call};
            found->second =
                time_kernels(alone, of.cost, of.step, of.device, slowest_).kernels.front();
        }
        timings.kernels.push_back(found->second);
    }
    return timings;
}

}  // namespace orrery
