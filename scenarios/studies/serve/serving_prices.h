// SPDX-License-Identifier: Apache-2.0
// What a step of an inference engine costs on a cluster: the sum of its kernels and collectives,
// which follow one another on one stream, and the engine's host. Everything but attention depends
// on the numbers of tokens and samples alone, and is priced once for each pair of them; attention
// is priced for each step.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/result.h"
#include "engine/serving/serving_run.h"
#include "kernels/cost_model.h"
#include "network/nccl_network.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/format/specs/serving_spec.h"

namespace orrery {

class ServingPrices : public StepCost {
public:
    // On tp x pp ranks of the scenario's cluster from `first_rank` on. An Error if the cluster has
    // fewer ranks, or its fabric cannot be built.
    static Result<std::unique_ptr<ServingPrices>> make(const Scenario& cluster,
                                                       const Transformer& model,
                                                       const ServingPlan& plan,
                                                       const ServingEngine& engine,
                                                       std::int64_t first_rank = 0);

    std::size_t num_stages() const override {
        return static_cast<std::size_t>(plan_.pipeline_model_parallel_size);
    }
    void times(const Batch& batch, std::vector<Time>& stages) override;

    // Of the device alone.
    Time stage_time(const BatchShape& shape, std::int64_t stage);
    Time time_of(const ServingOp& op, std::int64_t stage) const;
    // How often a pair of token and sample counts was seen before.
    std::int64_t prices_remembered() const { return static_cast<std::int64_t>(fixed_.size()); }

private:
    ServingPrices(const Scenario& cluster,
                  Fabric fabric,
                  const EfficiencyTable& curves,
                  const Transformer& model,
                  const ServingPlan& plan,
                  const ServingEngine& engine,
                  std::int64_t first_rank);

    Transformer model_;
    ServingPlan plan_;
    ServingEngine engine_;
    std::int64_t first_rank_;
    CostModel cost_;
    NcclNetwork network_;
    std::unordered_map<std::uint64_t, Time> fixed_;  // by tokens, samples and stage
};

}  // namespace orrery
