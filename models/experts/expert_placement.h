// SPDX-License-Identifier: Apache-2.0
// Which rank has which expert, by how many tokens the experts get. The order of steps is that of
// DeepSeek's expert-parallel load balancer (EPLB): groups of experts to nodes, replicas of the
// busiest experts inside nodes, and then all copies to GPUs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/plan/plan.h"

namespace orrery {

struct PlacementCall {
    std::int64_t slots = 1;   // copies of experts: as many as experts, or more
    std::int64_t groups = 1;  // of consecutive experts that stay on one node
    std::int64_t nodes = 1;
    std::int64_t gpus = 1;
};

// The expert in each slot, GPU by GPU. Slots, groups and GPUs divide by nodes (groups that do not
// are spread over all GPUs as one node), slots by GPUs, experts by groups.
std::vector<std::int64_t> place_experts(std::span<const double> loads, const PlacementCall& call);

// One copy of each expert; each of the `ranks` has equally many.
std::vector<std::int64_t> balanced_order(std::span<const double> loads, std::int64_t ranks);

}  // namespace orrery
