// SPDX-License-Identifier: Apache-2.0
// What the packet model needs of a scenario: its fabric with every cable a link of its own, that as
// a topology of ports, and the parameters, spraying as the fabric's routing says unless given.
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
