// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/memory_overheads.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "kernels/efficiency_table.h"
#include "network/nccl_p2p.h"
#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/specs/node_devices.h"
#include "scenarios/studies/simulate/program_summary.h"
#include "scenarios/studies/simulate/software.h"
#include "scenarios/studies/simulate/step_network.h"

namespace orrery {
namespace {

// Bytes of a channel's buffers for one peer: Simple, LL and LL128.
constexpr std::int64_t kBuffers = (std::int64_t{4} << 20) + (std::int64_t{512} << 10) + 4'915'200;

// Peers from which a rank receives on one channel in a tree. Inside a server the tree is a chain.
constexpr std::int64_t kTreeInside = 2;
constexpr std::int64_t kTreeBetween = 3;

// Peers from which a rank receives on one channel, in a ring plus a tree.
std::int64_t peers_of_channel(std::size_t members, std::size_t servers) {
    const auto others = static_cast<std::int64_t>(members) - 1;
    return 1 + std::min(others, servers > 1 ? kTreeBetween : kTreeInside);
}

std::uint32_t server_of(RankId member, const ClusterSpec& cluster) {
    return cluster.server_of(static_cast<std::uint32_t>(index(member)));
}

std::size_t servers_of(const std::vector<RankId>& members, const ClusterSpec& cluster) {
    std::set<std::uint32_t> servers;
    for (const RankId member : members) {
        servers.insert(server_of(member, cluster));
    }
    return servers.size();
}

const DeviceSpec& device_of_rank(const Scenario& scenario, RankId rank) {
    return scenario.device_of_kind(
        scenario.devices.empty()
            ? 0
            : scenario.cluster.kind_of_rank(static_cast<std::uint32_t>(index(rank))));
}

// What a communicator has buffers for.
struct Buffered {
    std::int64_t channels = 0;  // of its rings and trees
    std::int64_t messages = 0;  // connections of messages inside a server

    void join(const Buffered& other) {
        channels = std::max(channels, other.channels);
        messages = std::max(messages, other.messages);
    }
};
// The communicators of the same members, by the cause of the axis that uses each.
using BufferedOfAxes = std::map<Cause, Buffered>;

// The communicators of a rank. Calls of one axis and the same members share one.
class Communicators {
public:
    Communicators(const Program& program,
                  const Scenario& scenario,
                  const NetworkModel& network,
                  RankId rank)
        : mesh_(program.mesh_of(program.role_of(rank))),
          cluster_(scenario.cluster),
          device_(device_of_rank(scenario, rank)),
          network_(network),
          rank_(rank) {}

    void add(const Group& group, const CollectiveCall& call, Cause cause) {
        std::vector<RankId> members = mesh_.members(group, rank_);
        if (members.size() < 2) {
            return;
        }
        const TransferPlan plan = network_.plan(call, members);
        Buffered use{.channels = plan.channels};
        // A library's own kernels and copy engines have no connections of NCCL.
        if (call.kind == CollectiveKind::all_to_all && !plan.protocol.empty()) {
            use.channels = channels_of_ring(members);
            use.messages = peers_inside(members) * channels_of_peer(members, plan.channels);
        }
        buffered_[std::move(members)][cause].join(use);
    }

    // Messages go over the communicator of the whole axis.
    void add_messages(const SendRecvCall& call, Cause cause) {
        for (const SendRecvPart& part : call.parts) {
            for (const MeshAxis& axis : mesh_.axes()) {
                if (part.peers < 0 && (axis.digits >> part.digit & 1u) != 0) {
                    const Group group{.name = axis.name, .digits = axis.digits};
                    if (axes_.insert(axis.digits).second) {
                        add(group, {.bytes = kLarge}, cause);
                    }
                    if (!part.is_send && received_.emplace(part.digit, part.delta).second) {
                        add_peer(group, cause);
                    }
                }
            }
        }
    }

    // plan.pipeline_engine_groups. The gradients' norm is summed over the replica, whose
    // communicator may be known by it.
    void add_engine_groups() {
        const std::uint32_t tp = digits_of("tp");
        const std::uint32_t pp = digits_of("pp");
        const std::vector<RankId> replica = members_along(tp | pp);
        const auto known = buffered_.find(replica);
        if (known == buffered_.end() || !known->second.contains(Cause::exposed_other)) {
            add_engine_group(replica);
        }
        add_engine_group(members_along(tp));
        const std::vector<RankId> stages = members_along(pp);
        for (std::size_t stage = 0; stage + 1 < stages.size(); ++stage) {
            if (stages[stage] == rank_ || stages[stage + 1] == rank_) {
                add_engine_group({stages[stage], stages[stage + 1]});
            }
        }
    }

    const std::map<std::vector<RankId>, BufferedOfAxes>& buffered() const { return buffered_; }
    // The members of each engine's group, with its channels.
    const std::vector<std::pair<std::vector<RankId>, std::int64_t>>& engine_groups() const {
        return engine_groups_;
    }

private:
    // Such calls use all channels.
    static constexpr Bytes kLarge{std::int64_t{1} << 30};

    std::uint32_t digits_of(std::string_view axis) const {
        const auto found = std::ranges::find(mesh_.axes(), axis, &MeshAxis::name);
        return found == mesh_.axes().end() ? 0 : found->digits;
    }

    std::vector<RankId> members_along(std::uint32_t digits) const {
        return mesh_.members({.name = mesh_.name_of(digits), .digits = digits}, rank_);
    }

    void add_engine_group(std::vector<RankId> members) {
        if (members.size() > 1) {
            const std::int64_t channels = channels_of_ring(members);
            engine_groups_.emplace_back(std::move(members), channels);
        }
    }

    std::int64_t channels_of_ring(const std::vector<RankId>& members) const {
        const CollectiveCall ring{.kind = CollectiveKind::all_gather, .bytes = kLarge};
        return network_.plan(ring, members).channels;
    }

    void add_peer(const Group& group, Cause cause) {
        const std::vector<RankId> members = mesh_.members(group, rank_);
        if (members.size() > 1 && servers_of(members, cluster_) == 1) {
            Buffered& use = buffered_[members][cause];
            use.messages += channels_of_peer(members, use.channels);
        }
    }

    std::int64_t peers_inside(const std::vector<RankId>& members) const {
        const std::uint32_t server = server_of(rank_, cluster_);
        return std::ranges::count_if(
                   members, [&](RankId member) { return server_of(member, cluster_) == server; }) -
               1;
    }

    // A communicator has as many channels to each peer as to the one with the fewest
    // (src/graph/paths.cc, ncclTopoComputeP2pChannels).
    std::int64_t channels_of_peer(const std::vector<RankId>& members, std::int64_t channels) const {
        const auto servers = static_cast<std::uint32_t>(servers_of(members, cluster_));
        const NcclP2pChannels p2p =
            nccl_p2p_channels({.compute_capability = device_.compute_capability,
                               .num_nodes = servers,
                               .num_ranks = static_cast<std::uint32_t>(members.size()),
                               .channels = static_cast<std::uint32_t>(channels)},
                              cluster_.node,
                              std::max(1u, cluster_.nics_per_server() / cluster_.gpus_per_server()),
                              cluster_.fabric.nic_bandwidth.gigabytes_per_second());
        return servers > 1 ? std::min(p2p.local, p2p.network) : p2p.local;
    }

    const Mesh& mesh_;
    const ClusterSpec& cluster_;
    const DeviceSpec& device_;
    const NetworkModel& network_;
    RankId rank_;
    std::set<std::uint32_t> axes_;
    std::set<std::pair<std::uint32_t, int>> received_;  // digits and distances of peers
    std::map<std::vector<RankId>, BufferedOfAxes> buffered_;
    std::vector<std::pair<std::vector<RankId>, std::int64_t>> engine_groups_;
};

// What belongs to no axis, such as the gradients' norm, uses an axis' communicator if one has its
// members.
Buffered together(const BufferedOfAxes& axes, bool axes_share) {
    Buffered joined;
    Buffered sum;
    for (const auto& [cause, use] : axes) {
        joined.join(use);
        sum.channels += cause == Cause::exposed_other ? 0 : use.channels;
        sum.messages += cause == Cause::exposed_other ? 0 : use.messages;
    }
    if (!axes_share) {
        joined.join(sum);
    }
    return joined;
}

// Whether PyTorch runs the step, with its caching allocator and its default group. XLA and programs
// in C++ plan an arena, and have no groups but those of their collectives.
bool on_pytorch(const Scenario& scenario) {
    return scenario.plan.eager_framework && lineage_of(scenario.software) != "xla";
}

Bytes fraction_of(Bytes bytes, double share) {
    return Bytes{std::llround(static_cast<double>(bytes.count()) * share)};
}

// Peers times channels for which a communicator has buffers.
std::int64_t buffers_of(const std::vector<RankId>& members,
                        const Buffered& use,
                        const ClusterSpec& cluster) {
    const std::size_t servers = servers_of(members, cluster);
    const std::int64_t directions = servers == members.size() ? 2 : 1;
    return use.channels * directions * peers_of_channel(members.size(), servers) + use.messages;
}

// The buffers of all communicators of a rank.
Bytes nccl_buffers(const Program& program,
                   const Scenario& scenario,
                   const NetworkModel& network,
                   RankId rank) {
    Communicators communicators{program, scenario, network, rank};
    std::set<std::pair<std::uint32_t, Cause>> calls;
    for (const Slot& slot : program.roles[index(program.role_of(rank))].slots) {
        for (const Op& op : program.segment_of(slot).ops) {
            if (op.kind() == OpKind::collective) {
                calls.emplace(op.payload.number(), op.cause);
            } else if (op.kind() == OpKind::send_recv) {
                communicators.add_messages(program.send_recv(op), op.cause);
            }
        }
    }
    for (const auto& [id, cause] : calls) {
        const CollectiveCall& call = program.collectives[id];
        communicators.add(program.groups[index(call.group)], call, cause);
    }
    if (scenario.plan.pipeline_engine_groups) {
        communicators.add_engine_groups();
    }
    const bool process_groups = on_pytorch(scenario);
    std::int64_t buffers = 0;
    std::int64_t between = 0;  // the most channels of a communicator between servers
    bool of_all = false;
    for (const auto& [members, axes] : communicators.buffered()) {
        buffers += buffers_of(members, together(axes, !process_groups), scenario.cluster);
        if (servers_of(members, scenario.cluster) > 1) {
            between = std::max(between, together(axes, true).channels);
        }
        of_all = of_all || members.size() == program.num_ranks();
    }
    for (const auto& [members, channels] : communicators.engine_groups()) {
        buffers += buffers_of(members, {.channels = channels}, scenario.cluster);
    }
    if (process_groups && !of_all) {
        buffers += between * (1 + kTreeBetween);
    }
    return Bytes{buffers * kBuffers};
}

}  // namespace

Result<MemoryUse> whole_memory_use(const Program& program,
                                   const Scenario& scenario,
                                   const NetworkModel& network,
                                   MemoryUse use) {
    add_host_memory(program, scenario.cluster, use);
    const DeviceSpec& device = device_of_rank(scenario, use.rank);
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
    add("NCCL buffers", nccl_buffers(program, scenario, network, use.rank));
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
