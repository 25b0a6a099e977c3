// SPDX-License-Identifier: Apache-2.0
// The plans that a search looks at: every combination of the sizes and switches of a PlanSpace that
// a model, a cluster and a batch admit (models/plan/validate_plan.h says which do). Choices that
// make no difference are made once: a pipeline of one stage has one schedule, a single
// data-parallel rank has nothing to shard.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "models/plan/plan.h"
#include "models/transformer/transformer.h"
#include "network/fabric/cluster_spec.h"
#include "scenarios/format/specs/search_spec.h"

namespace orrery {

struct PlanPoint {
    // With its data_parallel_size, and with some layout if `split` is balanced: what is balanced
    // only costs can tell.
    ParallelPlan plan;
    StageSplit split = StageSplit::even;
};

struct SearchedGpus {
    std::int64_t total = 1;
    std::int64_t per_node = 1;
    // Where nodes of several kinds follow one another: of each. Then the stages on each kind may
    // have a tensor-parallel size of their own.
    std::vector<std::int64_t> by_kind{};
};
SearchedGpus searched_gpus(const ClusterSpec& cluster);

// The tensor and context-parallel sizes that the space has, in the order in which plans are
// visited. `tensor`: of the stage where it is largest.
struct RankSizes {
    std::int64_t tensor = 1;
    std::int64_t context = 1;
};
std::vector<RankSizes> rank_sizes(const PlanSpace& space, const SearchedGpus& gpus);

// Calls `visit` for each plan that fits the model and the GPUs, in a fixed order, starting from
// `base` for what the space does not vary. Adds to `refused`, by rule, the plans that don't fit.
// Returns the number of points, points that don't fit included.
std::int64_t for_each_plan(const PlanSpace& space,
                           const Transformer& model,
                           const ParallelPlan& base,
                           const SearchedGpus& gpus,
                           const std::function<void(PlanPoint)>& visit,
                           std::map<std::string, std::int64_t>& refused);
// The same with these of the rank_sizes() only.
std::int64_t for_each_plan(const PlanSpace& space,
                           const Transformer& model,
                           const ParallelPlan& base,
                           const SearchedGpus& gpus,
                           const RankSizes& sizes,
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
