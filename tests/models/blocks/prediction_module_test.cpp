// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/prediction_module.h"

#include <gtest/gtest.h>

#include "models/plan/flops.h"
#include "tests/models/lowered_experts.h"

namespace orrery {
namespace {

// 259.993 GFLOP a token with one module and causal attention, at a sequence of 4096.
TEST(PredictionModule, FlopsOfDeepSeekV3) {
    Transformer model = deepseek_v3();
    const auto of_token = [](const Transformer& m) {
        return model_flops(m, 1).causal_attention.count() / 4096 * 1e-9;
    };
    EXPECT_NEAR(of_token(model), 249.812, 0.07);
    const double without = of_token(model);
    model.mtp_num_layers = 1;
    EXPECT_NEAR(of_token(model) - without, 259.993 - 249.812, 0.01);
}

TEST(PredictionModule, IsALayerAHeadAndAProductMore) {
    Transformer model = small_experts();
    for (const std::int64_t stages : {1, 2}) {
        for (const std::int64_t modules : {0, 1, 2}) {
            model.mtp_num_layers = modules;
            const ParallelPlan plan{.pipeline_model_parallel_size = stages, .global_batch_size = 2};
            const Program program = verified(model, plan);
            const auto count = [&](std::string_view name) {
                std::int64_t all = 0;
                for (const Role& role : program.roles) {
                    for_each_op(program, role, [&](const Slot&, const Op& op) {
                        all += program.names[op.name] == name ? 1 : 0;
                    });
                }
                return all;
            };
            EXPECT_EQ(count("expert fc1"), 2 * (model.num_layers + modules));
            EXPECT_EQ(count("logits"), 2 * (1 + modules));
            EXPECT_EQ(count("prediction projection wgrad"), 2 * modules);
            EXPECT_EQ(count("next embedding backward"), 2 * modules);
        }
    }
}

TEST(PredictionModule, RunsAgainWithItsStage) {
    Transformer model = small_experts();
    model.mtp_num_layers = 1;
    ParallelPlan plan{.global_batch_size = 2};
    plan.recompute_granularity = Recompute::full;
    const Program program = verified(model, plan);
    EXPECT_EQ(count_ops(program, "expert fc1"), 2 * 2 * (model.num_layers + 1));
}

}  // namespace
}  // namespace orrery
