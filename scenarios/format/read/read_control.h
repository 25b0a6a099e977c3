// SPDX-License-Identifier: Apache-2.0
// The keys of a congestion control within network.packet.
#pragma once

#include "engine/result.h"
#include "network/packet/parameters.h"
#include "scenarios/format/document/map_reader.h"

namespace orrery {

// `packet` reads the map of network.packet; parameters of an algorithm that is not the chosen one
// are errors.
void read_control(MapReader& packet, packet::PacketParameters& p, Errors& errors);

}  // namespace orrery
