// SPDX-License-Identifier: Apache-2.0
// Tokens that each expert of a layer gets, in one micro-batch and one group of the ranks that share
// the experts. Groups and micro-batches draw for themselves from what the layer's router prefers.
//
// An expert is among a token's choices with the chance pi that successive draws without repetition
// give it: 1 - exp(-c w) of its likelihood w, where c makes the chances add up to topk (Rosen's
// limit, 1972). A router that is limited to groups chooses the groups in the same way first. Counts
// of many tokens are normal: mean and variance of each expert are the binomial's, and all add up to
// tokens x topk.
#pragma once

#include <cstdint>
#include <vector>

#include "models/experts/router_load.h"

namespace orrery {

// scale (1 - exp(-c w)) of each, which add up to `choices`: how likely it is among as many
// different ones that are drawn by these likelihoods.
std::vector<double> chances_of(const std::vector<double>& likely,
                               const std::vector<double>& scale,
                               double choices);

class ExpertCounts {
public:
    // `draw` has to outlive it.
    ExpertCounts(const RouterDraw& draw, std::int64_t layer);

    // Whole numbers, at most the capacity. Loads that are not drawn (balanced, hot, trace) are
    // those of expert_loads(), for all groups alike; a trace may have each micro-batch.
    std::vector<double> of(std::uint32_t micro_batch,
                           std::uint32_t group,
                           std::int64_t tokens) const;
    // By expert: the chance to be among a token's choices.
    const std::vector<double>& chances() const { return chances_; }

private:
    bool is_drawn() const;
    std::vector<double> not_drawn(std::uint32_t micro_batch, std::int64_t tokens) const;
    bool has_groups() const;

    const RouterDraw& draw_;
    std::int64_t layer_;
    std::vector<double> group_chances_;  // of a router that is limited to groups
    std::vector<double> chances_;
};

}  // namespace orrery
