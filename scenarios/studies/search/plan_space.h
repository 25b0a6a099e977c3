// SPDX-License-Identifier: Apache-2.0
// The plans that a search looks at: every combination of the sizes and switches below that a model,
// a cluster and a batch admit (models/validate_plan.h says which do). Choices that make no
// difference are made once: a pipeline of one stage has one schedule, a single data-parallel rank
// has nothing to shard.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "models/plan.h"
#include "models/transformer.h"

namespace orrery {

// How layers are dealt to the virtual stages.
enum class StageSplit : std::uint8_t {
    even,            // the same number each
    embedding_loss,  // embedding and output layer count as a layer each
    balanced,        // as evenly as whole layers allow, given what embedding and output cost
};

// An empty list: all that the cluster and the model admit.
struct PlanSpace {
    std::vector<std::int64_t> tensor_model_parallel_size;  // empty: within a node
    std::vector<std::int64_t> pipeline_model_parallel_size;
    std::vector<std::int64_t> virtual_pipeline_model_parallel_size;
    std::vector<std::int64_t> context_parallel_size;  // empty: 1 to 16
    std::vector<std::int64_t> micro_batch_size;       // empty: 1 to 16
    std::vector<ShardingStrategy> sharding;
    std::vector<Recompute> recompute;
    std::vector<ScheduleKind> schedules;
    std::vector<bool> overlap;  // the four overlap switches together
    std::vector<bool> sequence_parallel;
    std::vector<RankOrder> rank_orders;
    std::vector<StageSplit> splits;
};

struct PlanPoint {
    // With its data_parallel_size, and with some layout if `split` is balanced: what is balanced
    // only costs can tell.
    ParallelPlan plan;
    StageSplit split = StageSplit::even;
};

// The tensor and context-parallel sizes that the space has, in the order in which plans are
// visited.
struct RankSizes {
    std::int64_t tensor = 1;
    std::int64_t context = 1;
};
std::vector<RankSizes> rank_sizes(const PlanSpace& space,
                                  std::int64_t num_gpus,
                                  std::int64_t gpus_per_node);

// Calls `visit` for each plan that fits the model and the GPUs, in a fixed order, starting from
// `base` for what the space does not vary. Adds to `refused`, by rule, the plans that don't fit.
// Returns the number of points, points that don't fit included.
std::int64_t for_each_plan(const PlanSpace& space,
                           const Transformer& model,
                           const ParallelPlan& base,
                           std::int64_t num_gpus,
                           std::int64_t gpus_per_node,
                           const std::function<void(PlanPoint)>& visit,
                           std::map<std::string, std::int64_t>& refused);

// Layers by virtual stage that make the slowest stage fast: `first` and `last` are what embedding
// and output layer cost, in layers. `layer_costs`: what a layer costs on each stage, if they differ
// (kinds of nodes), in the same unit.
std::vector<std::int64_t> balanced_layout(std::int64_t num_layers,
                                          std::int64_t stages,
                                          std::int64_t chunks,
                                          double first,
                                          double last,
                                          std::span<const double> layer_costs = {});

}  // namespace orrery
