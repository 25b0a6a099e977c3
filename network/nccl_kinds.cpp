// SPDX-License-Identifier: Apache-2.0
// The parts of NcclNetwork that depend on the kinds of a communicator's nodes.
#include <optional>

#include "network/fabric/port_limits.h"
#include "network/nccl_network.h"

namespace orrery {

NcclDevice NcclNetwork::device_of(std::uint32_t kind) const {
    return kind < options_.devices.size()
               ? options_.devices[kind]
               : NcclDevice{options_.compute_capability, options_.num_sms};
}

double NcclNetwork::intra_bandwidth(RankId rank) const {
    return nccl_intra_bandwidth(fabric_.node_spec(fabric_.node_of(rank)),
                                device_of(fabric_.kind_of(rank)).compute_capability);
}

double NcclNetwork::send_bandwidth(RankId from, RankId to, std::uint32_t channels) const {
    const std::uint32_t node = fabric_.node_of(from);
    if (node == fabric_.node_of(to)) {
        return std::min(intra_bandwidth(from),
                        channels * nccl_send_channel_bandwidth(
                                       device_of(fabric_.kind_of(from)).compute_capability));
    }
    return fabric_.over_tcp(node, fabric_.node_of(to)) ? kTcpThread : kNoPortLimit;
}

Time NcclNetwork::message_latency(bool tcp) const {
    const ClusterSpec& spec = fabric_.spec();
    return tcp ? spec.ethernet.message_latency : spec.fabric.message_latency;
}

// The result of NCCL's search if all nodes were of this kind.
NcclCommunicator NcclNetwork::search(std::uint32_t kind, const NcclGroupShape& shape) const {
    const NodeKind nodes = fabric_.spec().kind(kind);
    FabricSpec network = shape.tcp ? fabric_.spec().ethernet : fabric_.spec().fabric;
    if (!shape.tcp) {
        network.nic_bandwidth = nodes.nic_bandwidth;
    }
    return search_nccl_graphs(nodes.node, network, device_of(kind).compute_capability, shape);
}

NcclNetwork::Group& NcclNetwork::group_of(std::span<const RankId> members) const {
    const auto known = groups_.find(members);
    if (known != groups_.end()) {
        return known->second;
    }
    GroupLayout layout(fabric_, members);
    const NcclGroupShape shape = layout.shape();
    Group group{.layout = std::move(layout), .parts = {}};
    std::optional<NcclCommunicator> common;
    double slowest = 0;
    auto& tuning = tunings_[shape];
    for (std::uint32_t kind = 0; kind < fabric_.spec().num_kinds(); ++kind) {
        if ((shape.kinds >> kind & 1) == 0) {
            continue;
        }
        const NcclDevice device = device_of(kind);
        const NodeSpec node = fabric_.spec().kind(kind).node;
        const double inside = nccl_intra_bandwidth(node, device.compute_capability);
        if (slowest == 0 || inside < slowest) {
            slowest = inside;
            group.node = node;
        }
        group.num_sms =
            group.num_sms == 0 ? device.num_sms : std::min(group.num_sms, device.num_sms);
        if (!tuning) {
            const NcclCommunicator found = search(kind, shape);
            common = common ? common_graphs(*common, found) : found;
        }
    }
    if (!tuning) {
        tuning = std::make_unique<NcclTuning>(*common);
    }
    group.tuning = tuning.get();
    return groups_.emplace(std::vector<RankId>(members.begin(), members.end()), std::move(group))
        .first->second;
}

}  // namespace orrery
