// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/specs/node_devices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "network/nccl_p2p.h"

namespace orrery {
namespace {

// By role: the number of its ranks on each kind of node.
std::vector<std::map<std::uint32_t, std::uint32_t>> ranks_of_roles(const Program& program,
                                                                   const ClusterSpec& cluster) {
    std::vector<std::map<std::uint32_t, std::uint32_t>> kinds(program.roles.size());
    for (std::uint32_t rank = 0; rank < program.num_ranks(); ++rank) {
        ++kinds[index(program.role_of(RankId{rank}))][cluster.kind_of_rank(rank)];
    }
    return kinds;
}

// By role: the time at peak of the kernels of a step that count in the MFU
// (engine/world/kernel_runs.h).
std::vector<double> useful_seconds(const Program& program, const DeviceTimings& device) {
    std::vector<double> seconds(program.roles.size(), 0);
    for (std::size_t role = 0; role < program.roles.size(); ++role) {
        for (const Slot& slot : program.roles[role].slots) {
            for (const Op& op : program.segment_of(slot).ops) {
                if (op.kind() == OpKind::kernel && op.cause != Cause::recomputation &&
                    op.cause != Cause::optimizer) {
                    const KernelTime& time = device.kernels[index(op.payload.kernel())];
                    seconds[role] += std::min(time.ideal, time.duration).seconds();
                }
            }
        }
    }
    return seconds;
}

// "stage 0 is", "stages 0, 1 are"
std::string subject(const std::vector<std::string>& roles) {
    return fmt::format("{} {}", fmt::join(roles, ", "), roles.size() == 1 ? "is" : "are");
}

}  // namespace

NcclNetworkOptions nccl_options(const DeviceSpec& device, const std::vector<DeviceSpec>& devices) {
    NcclNetworkOptions options{.compute_capability = device.compute_capability,
                               .num_sms = device.num_sms,
                               .all_to_all_share = kNcclAllToAllShare};
    for (const DeviceSpec& one : devices) {
        options.devices.push_back({one.compute_capability, one.num_sms});
    }
    return options;
}

std::vector<std::uint32_t> ranks_of_kinds(const ClusterSpec& cluster) {
    std::vector<std::uint32_t> ranks(cluster.num_kinds(), 0);
    for (std::uint32_t rank = 0; rank < cluster.num_ranks(); ++rank) {
        ++ranks[cluster.kind_of_rank(rank)];
    }
    return ranks;
}

std::string device_names(const Scenario& scenario) {
    std::vector<std::string> names{scenario.device.name};
    for (const DeviceSpec& device : scenario.devices) {
        if (std::ranges::find(names, device.name) == names.end()) {
            names.push_back(device.name);
        }
    }
    return fmt::format("{}", fmt::join(names, " + "));
}

FlopRate mean_peak(const ClusterSpec& cluster,
                   const DeviceSpec& device,
                   const std::vector<DeviceSpec>& devices,
                   Dtype precision) {
    if (devices.size() < 2) {
        return device.peak(precision);
    }
    const std::vector<std::uint32_t> ranks = ranks_of_kinds(cluster);
    double sum = 0;
    for (std::uint32_t kind = 0; kind < ranks.size(); ++kind) {
        sum += devices[kind].peak(precision).per_second() * ranks[kind];
    }
    return FlopRate::per_second(sum / cluster.num_ranks());
}

Time work_on_slower_devices(const Program& program,
                            const Scenario& scenario,
                            std::span<const DeviceTimings> devices) {
    if (devices.size() < 2) {
        return {};
    }
    const Dtype precision = scenario.plan.precision;
    const double mean = mean_peak(scenario).per_second();
    const auto ranks_of = ranks_of_roles(program, scenario.cluster);
    double seconds = 0;
    for (std::size_t kind = 0; kind < devices.size(); ++kind) {
        const std::vector<double> work = useful_seconds(program, devices[kind]);
        const double peak =
            scenario.device_of_kind(static_cast<std::uint32_t>(kind)).peak(precision).per_second();
        for (std::size_t role = 0; role < work.size(); ++role) {
            const auto found = ranks_of[role].find(static_cast<std::uint32_t>(kind));
            const double ranks = found == ranks_of[role].end() ? 0 : found->second;
            seconds += ranks * work[role] * (1 - peak / mean);
        }
    }
    return Time::seconds(seconds / program.num_ranks());
}

std::vector<Bytes> memory_of_roles(const Program& program, const Scenario& scenario) {
    std::vector<Bytes> memory(program.roles.size(), scenario.device.memory);
    if (scenario.devices.empty()) {
        return memory;
    }
    const auto kinds = ranks_of_roles(program, scenario.cluster);
    for (std::size_t role = 0; role < kinds.size(); ++role) {
        bool first = true;
        for (const auto& [kind, ranks] : kinds[role]) {
            const Bytes own = scenario.device_of_kind(kind).memory;
            memory[role] = first ? own : std::min(memory[role], own);
            first = false;
        }
    }
    return memory;
}

std::vector<std::string> kind_remarks(const Program& program, const Scenario& scenario) {
    std::vector<std::string> remarks;
    const ClusterSpec& cluster = scenario.cluster;
    if (cluster.num_kinds() < 2) {
        return remarks;
    }
    std::vector<std::string> over_tcp;
    std::vector<std::string> mixed;
    const auto kinds = ranks_of_roles(program, cluster);
    for (std::size_t role = 0; role < kinds.size(); ++role) {
        const auto differs = [&](const auto& of_kind) {
            return std::ranges::any_of(kinds[role], [&](const auto& one) {
                return of_kind(one.first) != of_kind(kinds[role].begin()->first);
            });
        };
        if (differs([&](std::uint32_t kind) { return cluster.kinds[kind].nic_class; })) {
            over_tcp.push_back(program.roles[role].name);
        }
        if (differs([&](std::uint32_t kind) { return scenario.device_of_kind(kind).name; })) {
            mixed.push_back(program.roles[role].name);
        }
    }
    if (!over_tcp.empty()) {
        remarks.push_back(fmt::format(
            "{} on nodes of several NIC classes: collectives between them go over TCP. "
            "plan.rank_order: tp-cp-dp-pp, and stages in proportion to the nodes of each class, "
            "keep data parallelism inside a class",
            subject(over_tcp)));
    }
    if (!mixed.empty()) {
        remarks.push_back(
            fmt::format("{} on several kinds of GPUs: the slowest sets the pace", subject(mixed)));
    }
    const std::vector<std::uint32_t> ranks = ranks_of_kinds(cluster);
    std::set<double> peaks;
    for (std::uint32_t kind = 0; kind < ranks.size(); ++kind) {
        if (ranks[kind] > 0) {
            peaks.insert(scenario.device_of_kind(kind).peak(scenario.plan.precision).per_second());
        }
    }
    if (peaks.size() > 1) {
        remarks.push_back(
            "MFU and HFU are shares of the sum of all GPUs' peaks, each by its own device");
    }
    return remarks;
}

Result<void> check_one_kind(const Scenario& scenario, std::string_view what) {
    if (scenario.cluster.kinds.empty()) {
        return {};
    }
    return fail(scenario.cluster_where.empty() ? "cluster.kinds" : scenario.cluster_where,
                fmt::format("{} knows clusters of one kind of nodes, not cluster.kinds", what),
                "cluster.nodes and cluster.node");
}

}  // namespace orrery
