// SPDX-License-Identifier: Apache-2.0
// The candidate plans of a search: every combination of the sizes and switches of a PlanSpace that
// a model, a cluster and a batch allow (models/plan/validate_plan.h). Choices without an effect are
// made once: a pipeline of one stage has one schedule, and a single data-parallel rank shards
// nothing.
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
    // With its data_parallel_size. If `split` is balanced, its layout is provisional, because only
    // costs determine the balanced one.
    ParallelPlan plan;
    StageSplit split = StageSplit::even;
};

struct SearchedGpus {
    std::int64_t total = 1;
    std::int64_t per_node = 1;
    // For consecutive nodes of several kinds: the number for each kind. Stages on each kind may
    // then have a tensor-parallel size of their own.
    std::vector<std::int64_t> by_kind{};
};
SearchedGpus searched_gpus(const ClusterSpec& cluster);

// The tensor and context-parallel sizes of the space, in the order in which plans are visited.
// `tensor` is that of the stage with the largest size.
struct RankSizes {
    std::int64_t tensor = 1;
    std::int64_t context = 1;
};
std::vector<RankSizes> rank_sizes(const PlanSpace& space, const SearchedGpus& gpus);

// Calls `visit` for each plan that fits the model and the GPUs, in a fixed order. Fields that the
// space does not vary come from `base`. Adds the plans that do not fit to `refused`, by rule.
// Returns the number of points, including the refused ones. `stop` is asked every few hundred
// points at most; the plans after its first `true` are left.
std::int64_t for_each_plan(const PlanSpace& space,
                           const Transformer& model,
                           const ParallelPlan& base,
                           const SearchedGpus& gpus,
                           const std::function<void(PlanPoint)>& visit,
                           std::map<std::string, std::int64_t>& refused,
                           const std::function<bool()>& stop = {});
// The same for only these sizes of rank_sizes().
std::int64_t for_each_plan(const PlanSpace& space,
                           const Transformer& model,
                           const ParallelPlan& base,
                           const SearchedGpus& gpus,
                           const RankSizes& sizes,
                           const std::function<void(PlanPoint)>& visit,
                           std::map<std::string, std::int64_t>& refused,
                           const std::function<bool()>& stop = {});

// The numbers of layers by virtual stage that minimise the slowest stage. `first` and `last` are
// the costs of embedding and output layer, in layers. `layer_costs`: the cost of a layer on each
// stage, if the costs differ (kinds of nodes), in the same unit.
std::vector<std::int64_t> balanced_layout(std::int64_t num_layers,
                                          std::int64_t stages,
                                          std::int64_t chunks,
                                          double first,
                                          double last,
                                          std::span<const double> layer_costs = {});

}  // namespace orrery
