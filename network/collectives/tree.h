// SPDX-License-Identifier: Apache-2.0
// Tree all_reduce: a double binary tree over the nodes, with half of the channels on each tree;
// inside a node a chain of GPUs that starts at the channel's NIC. Every edge carries the channel's
// bytes once up (sums) and once down (results). All traffic of a channel between nodes uses its own
// NIC, which carries degree x bytes over its channels.
#pragma once

#include <vector>

#include "network/collectives/channel_router.h"

namespace orrery {

std::vector<PartShape> tree_parts(const ChannelRouter& router,
                                  std::uint32_t channels,
                                  std::uint32_t search_channels);

}  // namespace orrery
