// SPDX-License-Identifier: Apache-2.0
// The packet model's view of a scenario: its fabric with every cable as a link of its own, the same
// as a topology of ports, and the parameters. Unless given, spraying follows the fabric's routing.
#pragma once

#include "engine/base/result.h"
#include "network/fabric/fabric.h"
#include "network/packet/parameters.h"
#include "network/packet/topology.h"
#include "scenarios/format/specs/network_settings.h"

namespace orrery {

struct PacketParts {
    Fabric fabric;
    packet::Topology topology;
    packet::PacketParameters parameters;
};

Result<PacketParts> packet_parts(const ClusterSpec& cluster, const NetworkSettings& settings);
// An error of the packet model at the place of the scenario's section.
Error at_packets(Error error, const NetworkSettings& settings);

}  // namespace orrery
