// SPDX-License-Identifier: Apache-2.0
// The limit of one channel. NCCL's estimate gives a call the bandwidth of all channels of the
// communicator, although small calls run on few (NcclChoice::channels). Each channel is one block
// of a kernel, which moves at most NCCL's own limit for LL128 (perChMaxRingLL128Bws, 15 of 16 bytes
// are data); in LL half of the moved bytes are flags.
#pragma once

#include <cstdint>

#include "network/nccl/nccl_tuning.h"

namespace orrery {

// GB/s on the busiest edge of a ring; 0: no known limit (Simple).
double nccl_channel_bandwidth(NcclProtocol p,
                              std::uint32_t compute_capability,
                              std::uint32_t num_nodes);

}  // namespace orrery
