// SPDX-License-Identifier: Apache-2.0
// One message from a GPU to another: inside a node over NVLink (or PCIe); between nodes first to
// the GPU on the receiver's rail where there is NVLink (PXN), then through the network. Each
// channel has a connection of its own, split over its queue pairs, each with its own path: all are
// flows that progress by themselves.
#pragma once

#include <vector>

#include "network/collectives/connections.h"
#include "network/fabric/fabric.h"
#include "network/fabric/footprint.h"

namespace orrery {

std::vector<PartShape> send_parts(const Fabric& fabric,
                                  RankId from,
                                  RankId to,
                                  std::uint32_t channels,
                                  Connections* connections = nullptr);

}  // namespace orrery
