// SPDX-License-Identifier: Apache-2.0
#include "runtime/parameter_rounding.h"

#include <set>

#include "models/plan/validate_plan.h"
#include "runtime/rank_program.h"
#include "runtime/state/global_indices.h"
#include "runtime/trainable.h"
#include "runtime/trainer.h"
#include "tests/models/drawn_plans.h"
#include "tests/runtime/rank_training.h"

namespace orrery {
namespace {

ParallelPlan stochastic(ParallelPlan plan) {
    plan.precision = Dtype::bf16;
    plan.main_params_dtype = Dtype::bf16;
    plan.bf16_stochastic_round = true;
    return plan;
}

// Counts the elements of the whole that the rank updates, each with its own number in the whole.
void count_elements(const Program& program,
                    RankId rank,
                    std::map<std::string, std::vector<int>>& counts) {
    const RankProgram own{program, rank};
    for (std::uint32_t slot = 0; slot < own.role().slots.size(); ++slot) {
        for (const Op& op : program.segment_of(own.role().slots[slot]).ops) {
            if (op.kind() != OpKind::kernel || program.kernel(op).kind != KernelKind::adamw) {
                continue;
            }
            const BoundOp bound = own.bind_kernel(slot, op);
            for (const BoundOperand& weight : bound.writes) {
                const auto& shape = weight.tensor->global_shape;
                std::vector<int>& of_weight = counts[weight.tensor->parameter];
                of_weight.resize(static_cast<std::size_t>(shape[0] * shape[1]));
                const ParameterPlace place = parameter_place(bound, weight);
                const GlobalIndices indices{program, rank, *weight.tensor};
                for (std::int64_t i = 0; i < weight.view.size; ++i) {
                    const std::int64_t element = place.of(i);
                    ASSERT_EQ(element, indices.of(weight.first_element + i));
                    ASSERT_EQ(place.of(i + place.run(i) - 1), element + place.run(i) - 1);
                    ++of_weight[static_cast<std::size_t>(element)];
                }
            }
        }
    }
}

// Whatever the layout, an element of a parameter has the number that it has on one rank, and all
// elements are updated, each by as many ranks as there are copies of it.
TEST(ParameterRounding, NumbersTheElementsOfAnyLayoutAsOneRankDoes) {
    int layouts = 0;
    for (std::uint64_t seed = 1; layouts < 40; ++seed) {
        DrawnPlan d = tiny_drawn_plan(seed);
        d.plan = stochastic(d.plan);
        d.plan.optimizer = Optimizer::adam;
        const std::int64_t ranks = d.plan.model_parallel_size() * d.plan.data_parallel_size;
        if (ranks > 16 || !check(d.model, d.plan, ranks).empty() ||
            !check_trainable(d.model, d.plan, ranks).empty()) {
            continue;
        }
        SCOPED_TRACE(d.text());
        ++layouts;
        const Program program = lower(d.model, d.plan);
        std::map<std::string, std::vector<int>> counts;
        for (std::int64_t rank = 0; rank < ranks; ++rank) {
            count_elements(program, to_id<RankId>(static_cast<std::size_t>(rank)), counts);
        }
        for (const auto& [name, of_weight] : counts) {
            EXPECT_GT(of_weight.front(), 0) << name;
            EXPECT_EQ(std::set<int>(of_weight.begin(), of_weight.end()).size(), 1u) << name;
        }
    }
}

// Whose sums do not depend on the sharding, so that bits can be compared.
TEST(ParameterRounding, GivesShardsAndStagesTheBitsOfTheWhole) {
    for (const Optimizer optimizer : {Optimizer::adam, Optimizer::lamb}) {
        ParallelPlan plan = stochastic(plan_of(1, 2, ShardingStrategy::no_shard));
        plan.optimizer = optimizer;
        constexpr double kNoClipping = 0;
        const Training whole = train(tiny_gpt(), plan, 3, {}, kNoClipping);
        EXPECT_EQ(train(tiny_gpt(), plan, 3, {}, kNoClipping), whole);
        plan.bf16_stochastic_round = false;
        EXPECT_NE(train(tiny_gpt(), plan, 3, {}, kNoClipping).weights, whole.weights);
        plan.bf16_stochastic_round = true;
        if (optimizer == Optimizer::adam) {  // LAMB's norms are sums over the shards
            for (const auto sharding : {ShardingStrategy::optim,
                                        ShardingStrategy::optim_grads,
                                        ShardingStrategy::optim_grads_params}) {
                plan.data_parallel_sharding_strategy = sharding;
                EXPECT_EQ(train(tiny_gpt(), plan, 3, {}, kNoClipping).weights, whole.weights);
            }
        }
        plan.data_parallel_sharding_strategy = ShardingStrategy::no_shard;
        plan.pipeline_model_parallel_size = 2;
        EXPECT_EQ(train(tiny_gpt(), plan, 3, {}, kNoClipping).weights, whole.weights);
    }
}

// The loss after steps that are small beside the weights' spacing in bf16.
double loss_after_small_steps(const ParallelPlan& plan) {
    std::vector<std::uint16_t> ids;
    for (std::uint32_t i = 0; i < 600; ++i) {
        ids.push_back(static_cast<std::uint16_t>(i * i % 13));
    }
    const TrainingJob job{.device = DeviceChoice::cpu,
                          .steps = 400,
                          .seed = 5,
                          .learning_rate = 1e-4,
                          .min_learning_rate = 1e-4,
                          .eval_steps = 0};
    auto trainer = Trainer::create(tiny_gpt(), plan, job, Tokens::of(ids, 32));
    EXPECT_TRUE(trainer) << trainer.error().to_string();
    double sum = 0;
    for (int s = 1; s <= job.steps; ++s) {
        const auto report = (*trainer)->step();
        EXPECT_TRUE(report);
        sum += s > job.steps - 20 ? report->loss / 20 : 0;
    }
    return sum;
}

TEST(ParameterRounding, LetsBf16WeightsWithoutAMasterCopyLearn) {
    ParallelPlan plan = tiny_plan();
    plan.precision = Dtype::bf16;
    const double with_master = loss_after_small_steps(plan);
    plan.main_params_dtype = Dtype::bf16;
    const double to_nearest = loss_after_small_steps(plan);
    plan.bf16_stochastic_round = true;
    const double stochastically = loss_after_small_steps(plan);
    const double untrained = std::log(32.0);
    RecordProperty("losses",
                   testing::PrintToString(std::vector{with_master, to_nearest, stochastically}));
    EXPECT_LT(with_master, untrained - 0.3);
    EXPECT_NEAR(stochastically, with_master, 0.15 * (untrained - with_master));
    EXPECT_GT(to_nearest, with_master + 0.3 * (untrained - with_master));
}

}  // namespace
}  // namespace orrery
