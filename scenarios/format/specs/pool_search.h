// SPDX-License-Identifier: Apache-2.0
// The request of a search among pools for a served load: the section `search` of a file of kind
// serving.
#pragma once

#include <cstdint>
#include <vector>

namespace orrery {

enum class PoolArrangement : std::uint8_t {
    aggregated,     // each instance computes prompts and generates
    disaggregated,  // some instances compute prompts, others generate
};

enum class PoolObjective : std::uint8_t {
    rate,    // requests a second of the whole cluster that meet the load's objectives
    cost,    // of a million output tokens at the rate above
    energy,  // of a million output tokens at the rate above
};

struct PoolSearch {
    std::vector<std::int64_t> tensor_model_parallel_size;    // empty: powers of two within a node
    std::vector<std::int64_t> pipeline_model_parallel_size;  // empty: the values of the pools
    std::vector<PoolArrangement> arrangements;               // empty: both
    PoolObjective objective = PoolObjective::rate;
    std::int64_t keep = 5;  // number of best pools to keep
};

}  // namespace orrery
