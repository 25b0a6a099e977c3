// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/step_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "scenarios/format/specs/cluster_shape.h"
#include "scenarios/format/specs/fault_use.h"

namespace orrery {
namespace {

double factor_of(const FaultEvent& fault) {
    return fault.factor > 0 ? fault.factor : info(fault.kind).slowdown;
}

// The GPUs (or NICs) at which a fault is.
NodeRange parts_of(const FaultEvent& fault, Scope part, std::uint32_t per_node) {
    if (fault.at.scope == part) {
        return {fault.at.index, 1};
    }
    return {fault.nodes.first * per_node, fault.nodes.count * per_node};
}

}  // namespace

DeviceTimings slower(DeviceTimings timings, double factor) {
    if (factor == 1) {
        return timings;
    }
    for (KernelTime& kernel : timings.kernels) {
        kernel.duration = Time::seconds(kernel.duration.seconds() * factor);
    }
    return timings;
}

std::vector<FaultEvent> step_faults(const Scenario& scenario) {
    std::vector<FaultProcess> standing;
    for (const FaultProcess& process : scenario.faults.processes) {
        const FaultForm form = form_of(process);
        if (form == FaultForm::standing &&
            why_left_out(FaultUser::step, form, process.kind).empty()) {
            standing.push_back(process);
        }
    }
    return make_schedule(standing,
                         {},
                         cluster_shape(scenario.cluster, scenario.campaign),
                         WallTime::microseconds(1),
                         scenario.job.seed);
}

std::vector<std::string> fault_lines(const std::vector<FaultEvent>& faults,
                                     const Scenario& scenario) {
    const ClusterShape shape = cluster_shape(scenario.cluster, scenario.campaign);
    std::vector<std::string> lines;
    for (const FaultEvent& fault : faults) {
        lines.push_back(fmt::format("{} at {}, {:g} times as slow",
                                    name(fault.kind),
                                    to_text(shape, fault.at),
                                    factor_of(fault)));
    }
    return lines;
}

DeviceClasses device_classes(const std::vector<FaultEvent>& faults,
                             const Scenario& scenario,
                             std::span<const DeviceTimings> healthy,
                             std::uint32_t ranks) {
    const std::uint32_t per_node = scenario.cluster.gpus_per_server();
    std::vector<double> factor(std::max(ranks, scenario.cluster.num_gpus()), 1.0);  // by GPU
    for (const FaultEvent& fault : faults) {
        if (slows_gpus(fault.kind)) {
            const NodeRange gpus = parts_of(fault, Scope::gpu, per_node);
            for (std::uint32_t g = gpus.first; g < gpus.first + gpus.count; ++g) {
                factor[g] = std::max(factor[g], factor_of(fault));
            }
        }
    }
    DeviceClasses classes{.devices = {healthy.front()}, .of_rank = {}};
    std::map<std::pair<std::uint32_t, double>, std::uint16_t> class_of{{{0, 1.0}, 0}};
    const bool one_kind = healthy.size() == 1;
    std::vector<std::uint16_t> of_rank(ranks, 0);
    for (std::uint32_t r = 0; r < ranks; ++r) {
        const double slow = factor[scenario.cluster.gpu_of(r)];
        const std::uint32_t kind = one_kind ? 0 : scenario.cluster.kind_of_rank(r);
        const auto [found, fresh] = class_of.emplace(
            std::pair{kind, slow}, static_cast<std::uint16_t>(classes.devices.size()));
        if (fresh) {
            classes.devices.push_back(slower(healthy[kind], slow));
        }
        of_rank[r] = found->second;
    }
    if (classes.devices.size() > 1) {
        classes.of_rank = std::move(of_rank);
    }
    return classes;
}

Result<void> slow_links(const std::vector<FaultEvent>& faults,
                        const Scenario& scenario,
                        Fabric& fabric) {
    const std::uint32_t per_node = std::max(1U, scenario.cluster.fabric.nics_per_node);
    const std::uint32_t per_server = std::max(1U, scenario.cluster.nics_per_server());
    for (const FaultEvent& fault : faults) {
        if (info(fault.kind).effect == FaultEffect::stop) {
            return fail(
                "faults",
                fmt::format("{} is there from the start on: no step ends", name(fault.kind)),
                "t: 3d4h and orrery campaign, which recovers from it");
        }
        if (!slows_adapters(fault.kind)) {
            continue;
        }
        if (scenario.cluster.num_nodes < 2) {
            return fail("faults",
                        fmt::format("{} on one node: its adapters carry nothing", name(fault.kind)),
                        "two nodes or more");
        }
        const NodeRange nics = parts_of(fault, Scope::nic, per_server);
        for (std::uint32_t n = nics.first; n < nics.first + nics.count; ++n) {
            const NicPort port{.node = n / per_node, .nic = n % per_node};
            for (const LinkId link : {fabric.nic_out(port), fabric.nic_in(port)}) {
                const Bandwidth full = fabric.links()[index(link)].capacity;
                const auto left = static_cast<std::int64_t>(
                    static_cast<double>(full.bits_per_second()) / factor_of(fault));
                fabric.set_capacity(link,
                                    Bandwidth::bits_per_second(std::max<std::int64_t>(1, left)));
            }
        }
    }
    return {};
}

}  // namespace orrery
