// SPDX-License-Identifier: Apache-2.0
// all_to_all: grouped sends and receives, a flow of 1/n of a rank's bytes from every rank to every
// other one. One coupled transfer: its footprint counts the flows on each link, all progress alike.
// That is exact while the groups are symmetric, and an upper bound on the time otherwise (NCCL's
// pairs go round by round, and a pair that is done early waits for the others). Between nodes a
// message first goes over NVLink to the GPU on the receiver's rail (PXN).
#pragma once

#include <vector>

#include "network/collectives/channel_router.h"

namespace orrery {

std::vector<PartShape> all_to_all_parts(const Fabric& fabric,
                                        const GroupLayout& layout,
                                        std::uint64_t purpose,
                                        Connections* connections = nullptr);

}  // namespace orrery
