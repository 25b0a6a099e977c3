// SPDX-License-Identifier: Apache-2.0
// The number of tokens of each expert of a layer, for one micro-batch and one group of the ranks
// that share the experts. Groups and micro-batches draw independently from the router's
// likelihoods.
//
// Each expert has a chance pi to be among a token's choices: that of successive draws without
// repetition, 1 - exp(-c w) of its likelihood w, where c makes the chances add up to topk (Rosen's
// limit, 1972). A router that is limited to groups first chooses the groups in the same way. Counts
// of many tokens are normal: mean and variance of each expert are the binomial's, and all add up to
// tokens x topk.
#pragma once

#include <cstdint>
#include <vector>

#include "models/experts/router_load.h"

namespace orrery {

// The chance of each expert to be among `choices` different experts drawn by these likelihoods:
// scale (1 - exp(-c w)). The chances add up to `choices`.
std::vector<double> chances_of(const std::vector<double>& likely,
                               const std::vector<double>& scale,
                               double choices);

class ExpertCounts {
public:
    // `draw` must outlive the object.
    ExpertCounts(const RouterDraw& draw, std::int64_t layer);

    // Whole numbers, at most the capacity. Loads that are not drawn (balanced, hot, trace) equal
    // expert_loads() and are the same for all groups. A trace may have counts for each micro-batch.
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
    std::vector<double> group_chances_;  // for a router that is limited to groups
    std::vector<double> chances_;
};

}  // namespace orrery
