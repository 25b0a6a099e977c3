// SPDX-License-Identifier: Apache-2.0
// PAT (parallel aggregated trees; Jeaugey 2025): all_gather and reduce_scatter with one GPU per
// node in log2(n) rounds. Every rank's block travels down a binomial tree in which relative rank k
// gets it from k - lowbit(k). To the rank 2^j further, a rank sends as many blocks as there are k <
// n with lowest bit 2^j, so that far edges carry few. reduce_scatter is the mirror image.
#pragma once

#include <vector>

#include "engine/program/program.h"
#include "network/collectives/channel_router.h"

namespace orrery {

std::vector<PartShape> pat_parts(const ChannelRouter& router,
                                 CollectiveKind kind,
                                 std::uint32_t channels,
                                 std::uint32_t search_channels);

// The blocks of 1/n that a rank sends to the rank `distance` (a power of two) further.
std::uint32_t pat_blocks(std::uint32_t num_ranks, std::uint32_t distance);

}  // namespace orrery
