// SPDX-License-Identifier: Apache-2.0
// The path of keys and values from the tiers below a cache to a GPU (engine/serving/cache_tiers.h):
// their load on the server's links and on the fabric's, shared with other transfers.
#pragma once

#include "engine/base/ids.h"
#include "engine/program/network_model.h"
#include "engine/serving/cache_tiers.h"
#include "network/nccl_network.h"

namespace orrery {

// `rank` gets the bytes from its server's memory or disks, or from the memory of the server of
// `holder`. Bytes from disks pass through the server's memory. Bytes from another server's memory
// pass through the NICs of both servers, but through no GPU there. The servers must have the tier.
TransferPhase load_phase(
    const NcclNetwork& network, RankId rank, TierKind kind, RankId holder, Bytes bytes);

}  // namespace orrery
