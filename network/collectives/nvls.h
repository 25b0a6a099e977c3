// SPDX-License-Identifier: Apache-2.0
// In-switch reduction (NVLink SHARP). GPU h heads a slice of 1/p of the bytes. It reads the slice's
// sum, which the NVSwitch gathers from all p GPUs, and writes the result, which the switch sends to
// all p. Every GPU's NVLink thus carries p slices and, as a head, one more, out and in: (p+1)/p of
// the bytes in all_reduce. all_gather has only the second half, reduce_scatter only the first.
// NVLSTree does this in every node. Head h of a node then exchanges its slice with head h of other
// nodes over its own NIC, along a double binary tree; channels alternate between the two trees.
#pragma once

#include <vector>

#include "engine/program/program.h"
#include "network/collectives/channel_router.h"

namespace orrery {

std::vector<PartShape> nvls_parts(const ChannelRouter& router, CollectiveKind kind);
std::vector<PartShape> nvls_tree_parts(const ChannelRouter& router, std::uint32_t channels);

}  // namespace orrery
