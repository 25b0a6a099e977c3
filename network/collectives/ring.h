// SPDX-License-Identifier: Apache-2.0
// Ring collectives: per channel one ring over all ranks, node after node in order. A channel enters
// and leaves a node by the same NIC (crossNic 0). It enters at the GPU next to the NIC and visits
// the others over NVLink. Its last GPU passes the data back to the first (PXN) or, without NVLink,
// to the NIC over PCIe. Each GPU's NVLink thus carries one edge out and in per channel. Every edge
// carries 2 (n-1)/n of the bytes in all_reduce, and (n-1)/n in all_gather and reduce_scatter.
// broadcast counts as one whole pass, including its unused last edge.
#pragma once

#include <vector>

#include "engine/program/program.h"
#include "network/collectives/channel_router.h"

namespace orrery {

std::vector<PartShape> ring_parts(const ChannelRouter& router,
                                  std::uint32_t channels,
                                  std::uint32_t search_channels);

// The bytes over each edge of all rings together, for a call of `bytes`.
std::int64_t ring_edge_bytes(CollectiveKind kind, std::int64_t bytes, std::uint32_t num_ranks);

}  // namespace orrery
