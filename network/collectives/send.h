// SPDX-License-Identifier: Apache-2.0
// One message between two GPUs. Inside a node it goes over NVLink (or PCIe). Between nodes it first
// goes over NVLink, if there is one, to the GPU on the receiver's rail (PXN), then through the
// network. Each channel has a connection of its own, split over its queue pairs, each with its own
// path. All are independent flows.
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
