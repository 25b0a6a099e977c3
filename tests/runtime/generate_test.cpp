// SPDX-License-Identifier: Apache-2.0
#include "runtime/generate.h"

#include <cmath>
#include <mutex>

#include "tests/runtime/rank_training.h"

namespace orrery {
namespace {

TEST(DrawToken, TakesTheLikeliestWithoutTemperature) {
    const std::vector<float> logits{0.5f, 2.0f, 2.0f, -1.0f};
    EXPECT_EQ(draw_token(logits, {.temperature = 0}, 0), 1);
    EXPECT_EQ(draw_token(logits, {.temperature = 0, .vocabulary = 1}, 0), 0);
    EXPECT_EQ(draw_token(logits, {.temperature = 5, .top_k = 1}, 7), 1);
}

// Each token as often as its softmax says, within five standard deviations.
TEST(DrawToken, FollowsTheSoftmaxOfTheLogits) {
    const std::vector<float> logits{0.0f, 1.0f, -0.5f, 2.0f};
    for (const std::int64_t top_k : {0, 2}) {
        constexpr double kTemperature = 1.5;
        std::vector<double> weights;
        double sum = 0;
        for (const float logit : logits) {
            const bool allowed = top_k == 0 || logit >= 1.0f;
            weights.push_back(allowed ? std::exp(static_cast<double>(logit) / kTemperature) : 0.0);
            sum += weights.back();
        }
        constexpr int kDraws = 20'000;
        std::vector<int> counts(logits.size());
        for (int i = 0; i < kDraws; ++i) {
            ++counts[static_cast<std::size_t>(
                draw_token(logits, {.temperature = kTemperature, .top_k = top_k, .seed = 3}, i))];
        }
        for (std::size_t t = 0; t < logits.size(); ++t) {
            const double p = weights[t] / sum;
            EXPECT_NEAR(counts[t], kDraws * p, 5 * std::sqrt(kDraws * p * (1 - p)) + 1e-9) << t;
        }
    }
}

std::vector<std::int32_t> text_of(const Transformer& model, const ParallelPlan& plan) {
    const Program program = lower(model, plan.launched_from_cpp());
    std::vector<std::int32_t> text;
    std::mutex lock;
    const auto run = [&](RankId rank, Transport* transport) {
        auto executor = CpuExecutor::create(program, rank, transport);
        ASSERT_TRUE(executor) << executor.error().to_string();
        initialise_weights(**executor,
                           {.seed = 3, .num_layers = model.num_layers, .standard_deviation = 0.3});
        // More than the model sees at once.
        const auto tokens = generate_tokens(**executor, model, {5, 7, 11}, 12, {.seed = 9});
        ASSERT_TRUE(tokens) << tokens.error().to_string();
        const std::scoped_lock guard{lock};
        EXPECT_TRUE(text.empty() || text == *tokens);
        text = *tokens;
    };
    if (program.num_ranks() == 1) {
        run(RankId{0}, nullptr);
    } else {
        run_as_ranks(program.num_ranks(), [&](std::unique_ptr<Transport> transport) {
            run(static_cast<RankId>(transport->rank()), transport.get());
        });
    }
    return text;
}

TEST(GenerateTokens, IsTheSameInEveryLayout) {
    Transformer model = tiny_gpt();
    model.dropout = 0.5;  // none of it here
    const std::vector<std::int32_t> one = text_of(model, tiny_plan());
    EXPECT_EQ(one.size(), 12u);
    ParallelPlan plan = plan_of(2, 2, ShardingStrategy::optim_grads_params);
    plan.tensor_model_parallel_size = 2;
    plan.sequence_parallel = true;
    EXPECT_EQ(text_of(model, plan), one);
    plan = plan_of(1, 2, ShardingStrategy::optim);
    plan.overlap_param_gather = true;
    plan.context_parallel_size = 2;
    EXPECT_EQ(text_of(model, plan), one);
}

}  // namespace
}  // namespace orrery
