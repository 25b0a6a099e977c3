// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/memory_overheads.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "kernels/efficiency_table.h"
#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/specs/node_devices.h"
#include "scenarios/studies/simulate/program_summary.h"
#include "scenarios/studies/simulate/software.h"
#include "scenarios/studies/simulate/step_network.h"

namespace orrery {
namespace {

// Bytes of a channel's buffers for one peer: Simple, LL and LL128.
constexpr std::int64_t kBuffers = (std::int64_t{4} << 20) + (std::int64_t{512} << 10) + 4'915'200;

// Peers from which a rank receives on one channel, in a ring plus a tree. Inside a server the tree
// is a chain.
constexpr std::int64_t kPeersInside = 1 + 2;
constexpr std::int64_t kPeersBetween = 1 + 3;

std::size_t servers_of(const std::vector<RankId>& members, const ClusterSpec& cluster) {
    std::set<std::uint32_t> servers;
    for (const RankId member : members) {
        const auto rank = static_cast<std::uint32_t>(index(member));
        const std::uint32_t gpu = cluster.gpu_of_rank.empty() ? rank : cluster.gpu_of_rank[rank];
        servers.insert(gpu / cluster.gpus_per_server());
    }
    return servers.size();
}

// The communicators of a rank, with the channels of each. Groups of the same members that are used
// by several calls share one.
class Communicators {
public:
    Communicators(const Mesh& mesh, const NetworkModel& network, RankId rank)
        : mesh_(mesh), network_(network), rank_(rank) {}

    void add(const Group& group, const CollectiveCall& call) {
        std::vector<RankId> members = mesh_.members(group, rank_);
        if (members.size() > 1) {
            const std::int64_t count = network_.plan(call, members).channels;
            std::int64_t& most = channels_[std::move(members)];
            most = std::max(most, count);
        }
    }

    // Messages go over the communicator of the whole axis.
    void add_messages(const SendRecvCall& call) {
        for (const SendRecvPart& part : call.parts) {
            for (const MeshAxis& axis : mesh_.axes()) {
                if (part.peers < 0 && (axis.digits >> part.digit & 1u) != 0 &&
                    axes_.insert(axis.digits).second) {
                    add({.name = axis.name, .digits = axis.digits}, {.bytes = kLarge});
                }
            }
        }
    }

    const std::map<std::vector<RankId>, std::int64_t>& channels() const { return channels_; }

private:
    // Such calls use all channels.
    static constexpr Bytes kLarge{std::int64_t{1} << 30};

    const Mesh& mesh_;
    const NetworkModel& network_;
    RankId rank_;
    std::set<std::uint32_t> axes_;
    std::map<std::vector<RankId>, std::int64_t> channels_;
};

// Whether PyTorch runs the step, with its caching allocator and its default group. XLA and programs
// in C++ plan an arena, and have no groups but those of their collectives.
bool on_pytorch(const Scenario& scenario) {
    return scenario.plan.eager_framework && lineage_of(scenario.software) != "xla";
}

Bytes fraction_of(Bytes bytes, double share) {
    return Bytes{std::llround(static_cast<double>(bytes.count()) * share)};
}

}  // namespace

Bytes nccl_buffers(const Program& program,
                   const ClusterSpec& cluster,
                   const NetworkModel& network,
                   RankId rank,
                   bool default_group) {
    const RoleId role = program.role_of(rank);
    Communicators communicators{program.mesh_of(role), network, rank};
    std::set<std::uint32_t> calls;
    for (const Slot& slot : program.roles[index(role)].slots) {
        for (const Op& op : program.segment_of(slot).ops) {
            if (op.kind() == OpKind::collective) {
                calls.insert(op.payload.number());
            } else if (op.kind() == OpKind::send_recv) {
                communicators.add_messages(program.send_recv(op));
            }
        }
    }
    for (const std::uint32_t id : calls) {
        const CollectiveCall& call = program.collectives[id];
        communicators.add(program.groups[index(call.group)], call);
    }
    std::int64_t buffers = 0;
    std::int64_t between = 0;  // the most channels of a communicator between servers
    bool of_all = false;
    for (const auto& [members, channels] : communicators.channels()) {
        const std::size_t servers = servers_of(members, cluster);
        const std::int64_t directions = servers == members.size() ? 2 : 1;
        buffers += channels * directions * (servers > 1 ? kPeersBetween : kPeersInside);
        between = std::max(between, servers > 1 ? channels : 0);
        of_all = of_all || members.size() == program.num_ranks();
    }
    if (default_group && !of_all) {
        buffers += between * kPeersBetween;
    }
    return Bytes{buffers * kBuffers};
}

Result<MemoryUse> whole_memory_use(const Program& program,
                                   const Scenario& scenario,
                                   const NetworkModel& network,
                                   MemoryUse use) {
    add_host_memory(program, scenario.cluster, use);
    const auto rank = static_cast<std::uint32_t>(index(use.rank));
    const std::uint32_t kind = scenario.devices.empty() ? 0 : scenario.cluster.kind_of_rank(rank);
    const DeviceSpec& device = scenario.device_of_kind(kind);
    if (device.generation == "cpu") {
        return use;
    }
    const auto table =
        read_efficiency_table((default_catalogue() / "memory_overheads.csv").string());
    if (!table) {
        return tl::unexpected(table.error().front());
    }
    const auto fact = [&](std::string_view name) {
        return table->value_or(name, device.name, "*", 0.0);
    };
    const auto add = [&](std::string_view name, Bytes bytes) {
        if (bytes > Bytes{}) {
            use.overheads.push_back({std::string{name}, bytes});
        }
    };
    add("driver", fraction_of(use.device, fact("driver.share")));
    const bool lazy = scenario.plan.lazy_module_loading;
    add("CUDA context",
        Bytes{std::llround(fact(lazy ? "process.context" : "process.context_of_all_kernels"))});
    add("NCCL buffers",
        nccl_buffers(program, scenario.cluster, network, use.rank, on_pytorch(scenario)));
    if (on_pytorch(scenario)) {
        // The plan's gaps count as fragments, too.
        const Bytes gaps = use.peak - use.in_use;
        const Bytes held = fraction_of(use.in_use, fact("allocator.fragments"));
        add("allocator's fragments", held > gaps ? held - gaps : Bytes{});
    }
    use.fits = use.fits && use.needed() <= use.device;
    return use;
}

Result<MemoryUse> whole_memory_use(const Program& program, const Scenario& scenario) {
    Scenario calm = scenario;
    calm.network = NetworkFidelity::analytic;
    const Result<StepNetwork> network = build_step_network(calm, {}, {});
    if (!network) {
        return tl::unexpected(network.error());
    }
    return whole_memory_use(program,
                            scenario,
                            network->model(),
                            memory_use(program, memory_of_roles(program, scenario)));
}

}  // namespace orrery
