// SPDX-License-Identifier: Apache-2.0
// The order in which a rank of an all_to_all serves its peers (NCCL 2.28 to 2.30, src/init.cc,
// restated from its description).
#pragma once

#include <cstdint>
#include <vector>

namespace orrery {

// The distances 0 … ranks - 1 in NCCL's order. In each round a rank sends to the peer at this
// distance ahead and receives from the one behind, so that no two ranks send to the same peer. The
// distances are the triangular numbers modulo the next power of two, which take each value once.
std::vector<std::uint32_t> nccl_peer_order(std::uint32_t ranks);

}  // namespace orrery
