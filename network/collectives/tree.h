// SPDX-License-Identifier: Apache-2.0
// Tree all_reduce: a double binary tree over the nodes, half of the channels on each tree; inside a
// node a chain of GPUs that starts at the channel's NIC. Every edge carries the channel's bytes
// once up (sums) and once down (results). All traffic between nodes goes by the channel's own NIC,
// so it carries degree x bytes over its channels.
#pragma once

#include <vector>

#include "network/collectives/channel_router.h"

namespace orrery {

std::vector<PartShape> tree_parts(const ChannelRouter& router,
                                  std::uint32_t channels,
                                  std::uint32_t search_channels);

}  // namespace orrery
