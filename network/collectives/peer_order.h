// SPDX-License-Identifier: Apache-2.0
// In which order a rank of an all_to_all turns to its peers (NCCL 2.28 to 2.30, src/init.cc,
// restated from its description).
#pragma once

#include <cstdint>
#include <vector>

namespace orrery {

// Distances 0 … ranks - 1, in NCCL's order: in each round a rank sends to the peer so far ahead and
// receives from the one as far behind, so that no two ranks send to the same peer in one round.
// They are the triangular numbers modulo the next power of two; of these each comes up once.
std::vector<std::uint32_t> nccl_peer_order(std::uint32_t ranks);

}  // namespace orrery
