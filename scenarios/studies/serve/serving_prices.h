// SPDX-License-Identifier: Apache-2.0
// Cost of a step of an inference engine on a cluster: the sum of its kernels and collectives, which
// follow one another on one stream, and the engine's host. Everything except attention depends only
// on the numbers of tokens and samples and is priced once per pair of them. Attention is priced for
// each step.
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
#include "models/serving/step_launches.h"
#include "network/nccl_network.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/format/specs/serving_spec.h"
#include "scenarios/studies/serve/captured_steps.h"
#include "scenarios/studies/serve/engine_kernels.h"

namespace orrery {

class ServingPrices : public StepCost {
public:
    // Prices for tp x pp ranks of the scenario's cluster from `first_rank` on. An Error if the
    // cluster has fewer ranks, or its fabric cannot be built.
    static Result<std::unique_ptr<ServingPrices>> make(const Scenario& cluster,
                                                       const Transformer& model,
                                                       const ServingPlan& plan,
                                                       const ServingEngine& engine,
                                                       std::int64_t first_rank = 0);

    std::size_t num_stages() const override {
        return static_cast<std::size_t>(plan_.pipeline_model_parallel_size);
    }
    void times(const Batch& batch, std::vector<Time>& stages) override;
    // `draft` makes the proposals of speculative decoding on the same GPUs.
    void use_draft(std::unique_ptr<ServingPrices> draft) { draft_ = std::move(draft); }
    // `encoder` encodes the images of a step on the same GPUs.
    void use_encoder(std::unique_ptr<ServingPrices> encoder, std::int64_t patches) {
        encoder_ = std::move(encoder);
        patches_ = patches;
    }
    // Time of an encoder's pass over `images` images of `patches` tokens each, or of its launches
    // by the host if these take longer.
    Time encoding_time(std::int64_t images, std::int64_t patches);
    // Time of a message between two of the cluster's ranks.
    Time message_time(Bytes bytes, std::int64_t from, std::int64_t to) const;
    // Time as a draft model: one step per proposal, and the prompts of the batch.
    Time proposal_time(const BatchShape& shape);

    // Whether instances compile kernels at their first use
    void start_cold(bool cold) { cold_ = cold; }
    CompiledKernels compiled_at_start(const SchedulerLimits& limits,
                                      std::int64_t prompt) const override;
    Time compiling(const Batch& batch, CompiledKernels& compiled) const override;

    // Time of the device alone.
    Time stage_time(const BatchShape& shape, std::int64_t stage) {
        return stage_time(shape, shape, stage);
    }
    Time time_of(const ServingOp& op, std::int64_t stage) const;
    // Number of priced pairs of token and sample counts.
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

    // Everything on which the part of a step without attention depends.
    struct FixedPart {
        std::int64_t stage_tokens = 0;
        std::int64_t rank_tokens = 0;  // per data-parallel rank
        std::int64_t sampled = 0;
        std::int64_t adapters = 0;  // per data-parallel rank
        std::int64_t stage = 0;
        auto operator<=>(const FixedPart&) const = default;
    };
    // `filled` has the rows of all kernels but attention's.
    Time stage_time(const BatchShape& shape, const BatchShape& filled, std::int64_t stage);
    Time flash_2_kernels(const AttentionShape& shape) const;
    // Time of an attention kernel over a paged cache that takes `alone` over a contiguous one.
    Time paged_attention(const KernelCall& kernel, Time alone, bool generates) const;
    // Lower bound by the engine's own kernel of experts; zero for other kernels.
    Time least_expert_time(const ServingOp& op, const KernelCall& kernel) const;
    // Lower bound by the bytes of the engine's own kernel; zero for other kernels.
    Time least_move_time(const ServingOp& op, const KernelCall& kernel) const;
    Time ring_hop_time(const SendCall& call) const;
    Time host_time(std::size_t sequences, std::uint32_t together) const;
    double host_factor() const;
    // One of the engine's host times on the node's host.
    Time on_host(Time time) const { return Time::seconds(time.seconds() * host_factor()); }
    // Launches of a step of which graphs hold this.
    std::int64_t launches_of(std::size_t stage, Capture capture, bool mixed);
    // Times of a step whose experts are on separate ranks (models/serving/serving_plan.h:
    // expert_ranks).
    struct PartTimes {
        Time attention;  // with everything else except experts
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
    bool cold_ = false;
    std::int64_t patches_ = 0;            // per image
    std::vector<StepLaunches> launches_;  // by priced stage
};

}  // namespace orrery
