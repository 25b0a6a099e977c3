// SPDX-License-Identifier: Apache-2.0
// What a step of an inference engine costs on a cluster: the sum of its kernels and collectives,
// which follow one another on one stream, and the engine's host. Everything but attention depends
// on the numbers of tokens and samples alone, and is priced once for each pair of them; attention
// is priced for each step.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/result.h"
#include "engine/serving/serving_run.h"
#include "kernels/cost_model.h"
#include "models/serving/serving_step.h"
#include "network/nccl_network.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/format/specs/serving_spec.h"
#include "scenarios/studies/serve/engine_kernels.h"

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
    // Proposals of speculative decoding come from a model on the same GPUs.
    void use_draft(std::unique_ptr<ServingPrices> draft) { draft_ = std::move(draft); }
    // Images of a step are encoded by a model on the same GPUs.
    void use_encoder(std::unique_ptr<ServingPrices> encoder, std::int64_t patches) {
        encoder_ = std::move(encoder);
        patches_ = patches;
    }
    // Time of an encoder's pass over `images` images of `patches` tokens each, or of its launches
    // by the host if these take longer.
    Time encoding_time(std::int64_t images, std::int64_t patches);
    // A message between two of the cluster's ranks.
    Time message_time(Bytes bytes, std::int64_t from, std::int64_t to) const;
    // As a draft: a step a proposal, and the prompts of the batch.
    Time proposal_time(const BatchShape& shape);

    // Of the device alone.
    Time stage_time(const BatchShape& shape, std::int64_t stage);
    Time time_of(const ServingOp& op, std::int64_t stage) const;
    // Pairs of token and sample counts that were priced.
    std::int64_t prices_remembered() const { return static_cast<std::int64_t>(fixed_.size()); }

private:
    ServingPrices(const Scenario& cluster,
                  Fabric fabric,
                  const EfficiencyTable& curves,
                  const Transformer& model,
                  const ServingPlan& plan,
                  const ServingEngine& engine,
                  const EngineKernels& kernels,
                  std::int64_t first_rank);

    // All that the part of a step depends on which attention is not in.
    struct FixedPart {
        std::int64_t stage_tokens = 0;
        std::int64_t rank_tokens = 0;  // of a data-parallel rank
        std::int64_t sampled = 0;
        std::int64_t adapters = 0;  // of that rank
        std::int64_t stage = 0;
        auto operator<=>(const FixedPart&) const = default;
    };
    Time flash_2_kernels(const AttentionShape& shape) const;
    // An attention kernel over a paged cache, which takes `alone` over a contiguous one.
    Time paged_attention(const KernelCall& kernel, Time alone, bool generates) const;
    // Of the engine's own kernel of experts, below which the curve may be; zero for others.
    Time least_expert_time(const ServingOp& op, const KernelCall& kernel) const;
    // Of the engine's own kernel that its bytes bind; zero for others.
    Time least_move_time(const ServingOp& op, const KernelCall& kernel) const;
    Time ring_hop_time(const SendCall& call) const;
    Time host_time(std::size_t sequences, std::uint32_t together) const;
    double host_factor() const;
    // Of the host, for a kernel of a step that no graph captures; zero if one does.
    // Of a kernel that no graph has captured.
    Time launch_time() const;
    // `generates`: the step has no prompts.
    bool is_captured(const Batch& batch, bool generates) const;
    std::int64_t launches_of(std::size_t stage);
    // A step whose experts are on ranks of their own (models/serving/serving_plan.h: expert_ranks).
    struct PartTimes {
        Time attention;  // and all else but experts
        Time experts;
        Time exchange;  // between the two
    };
    PartTimes part_times(const BatchShape& shape) const;
    Time split_time(const BatchShape& shape) const;
    Time collective_time(const CollectiveCall& call, ServingGroup group, std::int64_t stage) const;

    Transformer model_;
    ServingPlan plan_;
    ServingEngine engine_;
    EngineKernels kernels_;
    std::int64_t first_rank_;
    DeviceSpec device_;
    NodeSpec node_;
    CostModel cost_;
    CostModel fp4_cost_;
    NcclNetwork network_;
    std::map<FixedPart, Time> fixed_;
    std::unique_ptr<ServingPrices> draft_;
    std::unique_ptr<ServingPrices> encoder_;
    std::int64_t patches_ = 0;            // of an image
    std::vector<std::int64_t> launches_;  // of each stage that was priced
};

}  // namespace orrery
