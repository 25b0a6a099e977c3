// SPDX-License-Identifier: Apache-2.0
// What one channel moves at most. NCCL's estimate holds a call to the bandwidth of all channels of
// the communicator, though small calls run on few (NcclChoice::channels): each is one block of a
// kernel, which moves no more than NCCL's own limit of LL128 for it (perChMaxRingLL128Bws, 15 bytes
// of 16 are data), and in LL half of what it moves are flags.
#pragma once

#include <cstdint>

#include "network/nccl/nccl_tuning.h"

namespace orrery {

// GB/s on the busiest edge of a ring; 0: not known to be limited (Simple).
double nccl_channel_bandwidth(NcclProtocol p,
                              std::uint32_t compute_capability,
                              std::uint32_t num_nodes);

}  // namespace orrery
