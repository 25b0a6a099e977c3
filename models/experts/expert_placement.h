// SPDX-License-Identifier: Apache-2.0
// The assignment of experts to ranks by the number of tokens that they get. The steps are those of
// DeepSeek's expert-parallel load balancer (EPLB): groups of experts to nodes, then replicas of the
// busiest experts inside nodes, then all copies to GPUs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/plan/plan.h"

namespace orrery {

struct PlacementCall {
    std::int64_t slots = 1;   // copies of experts, at least the number of experts
    std::int64_t groups = 1;  // groups of consecutive experts; a group stays on one node
    std::int64_t nodes = 1;
    std::int64_t gpus = 1;
};

// The expert in each slot, GPU by GPU. Slots and GPUs are multiples of nodes, slots of GPUs, and
// experts of groups. If groups are not a multiple of nodes, the experts are spread over all GPUs as
// on one node.
std::vector<std::int64_t> place_experts(std::span<const double> loads, const PlacementCall& call);

// The order of the experts, one copy of each. Each of the `ranks` gets the same number.
std::vector<std::int64_t> balanced_order(std::span<const double> loads, std::int64_t ranks);

}  // namespace orrery
