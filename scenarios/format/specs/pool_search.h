// SPDX-License-Identifier: Apache-2.0
// What a search among pools of a served load is asked: the section `search` of a file of kind
// serving.
#pragma once

#include <cstdint>
#include <vector>

namespace orrery {

enum class PoolArrangement : std::uint8_t {
    aggregated,     // instances that compute prompts and generate
    disaggregated,  // instances for prompts, and others that generate
};

enum class PoolObjective : std::uint8_t {
    rate,    // requests a second of the whole cluster, with the load's objectives met
    cost,    // of a million output tokens at that rate
    energy,  // the same
};

struct PoolSearch {
    std::vector<std::int64_t> tensor_model_parallel_size;    // empty: powers of two within a node
    std::vector<std::int64_t> pipeline_model_parallel_size;  // empty: as the pools say
    std::vector<PoolArrangement> arrangements;               // empty: both
    PoolObjective objective = PoolObjective::rate;
    std::int64_t keep = 5;  // of the best pools
};

}  // namespace orrery
