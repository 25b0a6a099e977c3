// SPDX-License-Identifier: Apache-2.0
// In-switch reduction (NVLink SHARP). GPU h heads the slice of 1/p of the bytes: it reads the
// slice's sum, which the NVSwitch gathers from all p GPUs, and writes the result, which the switch
// sends to all p. So every GPU's NVLink carries p slices and, as a head, one more, out and in:
// (p+1)/p of the bytes in all_reduce; all_gather has the second half alone, reduce_scatter the
// first. NVLSTree does so in every node; head h of a node then exchanges its slice with head h of
// other nodes over its own NIC, along a double binary tree, channels alternating between the two
// trees.
#pragma once

#include <vector>

#include "engine/program/program.h"
#include "network/collectives/channel_router.h"

namespace orrery {

std::vector<PartShape> nvls_parts(const ChannelRouter& router, CollectiveKind kind);
std::vector<PartShape> nvls_tree_parts(const ChannelRouter& router, std::uint32_t channels);

}  // namespace orrery
