// SPDX-License-Identifier: Apache-2.0
// How keys and values come to a GPU from the tiers below its cache (engine/serving/cache_tiers.h):
// what they load of the server's links and of the fabric's, beside all else that moves there.
#pragma once

#include "engine/base/ids.h"
#include "engine/program/network_model.h"
#include "engine/serving/cache_tiers.h"
#include "network/nccl_network.h"

namespace orrery {

// `rank` gets the bytes from its server's memory or disks, or from the memory of the server of
// `holder`. From disks they go through the server's memory; from another server's memory by the
// adapters of both, and not through a GPU there. The servers have the tier.
TransferPhase load_phase(
    const NcclNetwork& network, RankId rank, TierKind kind, RankId holder, Bytes bytes);

}  // namespace orrery
