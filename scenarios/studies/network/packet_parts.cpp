// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/network/packet_parts.h"

#include <utility>

namespace orrery {

Error at_packets(Error error, const NetworkSettings& settings) {
    if (error.where.empty()) {
        error.where = settings.packet.where;
    }
    return error;
}

Result<PacketParts> packet_parts(const ClusterSpec& cluster, const NetworkSettings& settings) {
    ClusterSpec cables = cluster;
    const bool sprays = cluster.fabric.routing == RoutingKind::spray;
    if (sprays) {
        cables.fabric.routing = RoutingKind::ecmp;  // packets spread, so links are not merged
    }
    auto fabric = build_fabric(cables);
    if (!fabric) {
        return unexpected<Error>(fabric.error());
    }
    auto topology = packet::Topology::build(*fabric);
    if (!topology) {
        return unexpected<Error>(at_packets(topology.error(), settings));
    }
    packet::PacketParameters p = settings.packet.parameters;
    p.seed = settings.seed;
    if (!settings.packet.spray_given && !sprays) {
        p.spray = packet::SprayKind::single;
    } else if (!settings.packet.spray_given && p.spray == packet::SprayKind::single) {
        p.spray = packet::SprayKind::oblivious;
        p.recovery = packet::RecoveryKind::selective;
        p.num_paths = 64;
    }
    return PacketParts{std::move(*fabric), std::move(*topology), p};
}

}  // namespace orrery
