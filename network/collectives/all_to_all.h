// SPDX-License-Identifier: Apache-2.0
// all_to_all: grouped sends and receives, with a flow of 1/n of a rank's bytes from every rank to
// every other. It is one coupled transfer: its footprint counts the flows on each link, and all
// have the same progress. This is exact for symmetric groups, and otherwise an upper bound on the
// time (NCCL processes pairs in rounds, and a pair that finishes early waits for the others).
// Between nodes a message first goes over NVLink to the GPU on the receiver's rail (PXN).
#pragma once

#include <vector>

#include "network/collectives/channel_router.h"

namespace orrery {

std::vector<PartShape> all_to_all_parts(const Fabric& fabric,
                                        const GroupLayout& layout,
                                        std::uint64_t purpose,
                                        Connections* connections = nullptr);

}  // namespace orrery
