// SPDX-License-Identifier: Apache-2.0
// ZeRO 0, 1, 2, 3 (Rajbhandari et al., SC 2020): the state that the data-parallel ranks shard. A
// strategy is an enumerator and a row. Keys, layouts, rules of plans and the search look the row
// up.
#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>

#include "models/plan/choice_rows.h"

namespace orrery {

enum class ShardingStrategy : std::uint8_t { no_shard, optim, optim_grads, optim_grads_params };

// Whether each rank holds the whole of a state, or the ranks that share a copy hold a part each.
enum class Held : std::uint8_t { whole, shard };

struct ShardingRow {
    ShardingStrategy value;
    std::string_view word;
    std::string_view meaning;
    Held weights = Held::whole;    // shard: gathered for each use
    Held gradients = Held::whole;  // after their reduction
    Held optimizer = Held::whole;
    // A rank frees its gradients outside its shard, at the latest after the step.
    bool frees_gradients = false;
};

// The distributed optimizer reduce-scatters gradients from ZeRO 1 on.
inline constexpr ShardingRow kShardingRows[] = {
    {ShardingStrategy::no_shard, "no_shard", "nothing"},
    {ShardingStrategy::optim,
     "optim",
     "optimizer states, ZeRO 1",
     Held::whole,
     Held::shard,
     Held::shard},
    {ShardingStrategy::optim_grads,
     "optim_grads",
     "gradients too, ZeRO 2",
     Held::whole,
     Held::shard,
     Held::shard,
     true},
    {ShardingStrategy::optim_grads_params,
     "optim_grads_params",
     "parameters too, ZeRO 3",
     Held::shard,
     Held::shard,
     Held::shard,
     true},
};

constexpr const ShardingRow& row_of(ShardingStrategy strategy) {
    return kShardingRows[static_cast<std::size_t>(strategy)];
}
static_assert(std::ranges::all_of(kShardingRows, [](const ShardingRow& row) {
    return &row_of(row.value) == &row;
}));

// The first strategy with the same layouts. It may differ in frees_gradients.
constexpr ShardingStrategy with_equal_layouts(ShardingStrategy strategy) {
    const ShardingRow& row = row_of(strategy);
    return std::ranges::find_if(kShardingRows,
                                [&](const ShardingRow& other) {
                                    return other.weights == row.weights &&
                                           other.gradients == row.gradients &&
                                           other.optimizer == row.optimizer;
                                })
        ->value;
}

inline constexpr std::string_view kShardingBegins = "What data-parallel ranks shard";
inline constexpr auto& kShardingStrategies = kChoicesOf<ShardingStrategy, kShardingRows>;
inline constexpr auto& kShardingMeaning = kMeaningOf<kShardingRows, kShardingBegins>;

}  // namespace orrery
