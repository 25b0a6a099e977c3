// SPDX-License-Identifier: Apache-2.0
#include "models/plan/flops.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/models/expert_models.h"
#include "tests/models/known_models.h"

namespace orrery {
namespace {

constexpr double kRounding = 1e-12;  // relative

void expect_close(double actual, double expected) {
    EXPECT_NEAR(actual / expected, 1.0, kRounding) << actual << " against " << expected;
}

struct Sizes {
    double L, h, V, s, B;
};

template <class Check>
void for_random_gpts(Check&& check) {
    std::mt19937 random(2021);
    const auto draw = [&](std::uint32_t max) {
        return 1 + static_cast<std::int64_t>(random() % max);
    };
    for (int i = 0; i < 100; ++i) {
        const std::int64_t L = draw(128);
        const std::int64_t h = 64 * draw(300);
        const std::int64_t V = draw(200000);
        const std::int64_t s = draw(16384);
        const std::int64_t B = draw(4096);
        const Sizes sizes{static_cast<double>(L),
                          static_cast<double>(h),
                          static_cast<double>(V),
                          static_cast<double>(s),
                          static_cast<double>(B)};
        check(gpt(L, h, h / 64, s, V), B, sizes);
    }
}

// GFLOP a token at a sequence of 4096, with half of the scores and with all of them. Megatron-LM's
// count halves them exactly and counts the norms of latent vectors: 1 in 10,000 is allowed.
TEST(ModelFlops, AreThoseOfReleasedModelsWithExperts) {
    struct Row {
        Transformer model;
        double causal;
        double full;
    };
    const Row rows[] = {
        {mixtral_8x7b(), 79.706, 82.928},
        {mixtral_8x22b(), 242.196, 250.652},
        {qwen3_30b_a3b(), 23.006, 27.838},
        {moonlight_16b(), 17.153, 18.852},
        {deepseek_v3(), 249.812, 280.514},
        {kimi_k2(), 204.477, 219.829},
    };
    for (const Row& row : rows) {
        const ModelFlops flops = model_flops(row.model, 1);
        EXPECT_NEAR(flops.causal_attention.count() / 4096e9 / row.causal, 1, 1e-4) << row.causal;
        EXPECT_NEAR(flops.full_attention.count() / 4096e9 / row.full, 1, 1e-4) << row.full;
    }
}

// Narayanan et al., SC 2021, equation 3, without the recomputation.
TEST(ModelFlops, FullAttentionIsTheClosedForm) {
    for_random_gpts([](const Transformer& model, std::int64_t batch, const Sizes& z) {
        const double expected =
            72 * z.B * z.L * z.s * z.h * z.h * (1 + z.s / (6 * z.h) + z.V / (12 * z.L * z.h));
        const ModelFlops flops = model_flops(model, batch);
        expect_close(flops.full_attention.count(), expected);
        EXPECT_EQ(flops.hardware_full_attention, flops.full_attention);
        EXPECT_EQ(flops.hardware_causal_attention, flops.causal_attention);
    });
}

ModelFlops again(const Transformer& model, std::int64_t batch, Recompute recompute) {
    return model_flops(model, {.global_batch_size = batch, .recompute_granularity = recompute});
}

// Narayanan et al., SC 2021, equation 3.
TEST(ModelFlops, FullRecomputationIsTheClosedForm) {
    for_random_gpts([](const Transformer& model, std::int64_t batch, const Sizes& z) {
        const double expected =
            96 * z.B * z.L * z.s * z.h * z.h * (1 + z.s / (6 * z.h) + z.V / (16 * z.L * z.h));
        const ModelFlops flops = again(model, batch, Recompute::full);
        expect_close(flops.hardware_full_attention.count(), expected);
        EXPECT_EQ(flops.full_attention, model_flops(model, batch).full_attention);
    });
}

// The attention core once more: 4 B L s^2 h.
TEST(ModelFlops, SelectiveRecomputationRunsTheAttentionCoreAgain) {
    for_random_gpts([](const Transformer& model, std::int64_t batch, const Sizes& z) {
        const ModelFlops flops = again(model, batch, Recompute::selective);
        expect_close(flops.hardware_full_attention.count(),
                     flops.full_attention.count() + 4 * z.B * z.L * z.s * z.s * z.h);
        expect_close(flops.hardware_causal_attention.count(),
                     flops.causal_attention.count() + 2 * z.B * z.L * z.s * (z.s + 1) * z.h);
    });
}

// Chowdhery et al., PaLM, 2022, appendix B: 6N + 12 L h s a token; N the weights that a token is
// multiplied with: no norms, biases, positions, and the vocabulary once.
TEST(ModelFlops, AreSixNPlusTwelveLhsAToken) {
    for (Transformer model : {llama3_8b(), llama3_70b(), llama3_405b()}) {
        const std::int64_t norms = (2 * model.num_layers + 1) * model.hidden_size;
        const auto weights =
            static_cast<double>(num_parameters(model) - norms - embedding_parameters(model));
        const auto lhs = static_cast<double>(model.num_layers * model.query_size());
        const auto tokens = static_cast<double>(model.seq_length);
        const ModelFlops flops = model_flops(model, 3);
        expect_close(flops.full_attention.count(), 3 * tokens * (6 * weights + 12 * lhs * tokens));
        expect_close(flops.causal_attention.count(),
                     3 * tokens * (6 * weights + 6 * lhs * (tokens + 1)));
    }
}

TEST(ModelFlops, CausalAttentionCountsThePairsThatTheMaskLeaves) {
    Transformer model = gpt(5, 128, 2, 48, 100);
    for (const std::int64_t window : {0, 1, 2, 7, 47, 48, 100}) {
        for (const std::int64_t every : {1, 2, 3}) {
            model.sliding_window = window;
            model.sliding_window_every = every;
            std::int64_t all_pairs = 0;
            for (std::int64_t layer = 0; layer < model.num_layers; ++layer) {
                const bool windowed = window > 0 && (layer + 1) % every == 0;
                std::int64_t pairs = 0;
                for (std::int64_t query = 0; query < model.seq_length; ++query) {
                    for (std::int64_t key = 0; key <= query; ++key) {
                        pairs += !windowed || query - key < window ? 1 : 0;
                    }
                }
                EXPECT_EQ(visible_attention_pairs(model, layer), pairs)
                    << "window " << window << " layer " << layer;
                all_pairs += pairs;
            }
            const ModelFlops flops = model_flops(model, 1);
            const double full_pairs = 5.0 * 48 * 48;
            const double hidden = flops.full_attention.count() - flops.causal_attention.count();
            expect_close(hidden, 12.0 * 128 * (full_pairs - static_cast<double>(all_pairs)));
        }
    }
}

TEST(ModelFlops, GroupedQueriesSaveProjectionsButNoAttention) {
    Transformer grouped = llama3_8b();
    Transformer whole = grouped;
    whole.num_query_groups = whole.num_attention_heads;
    const double saved = model_flops(whole, 1).causal_attention.count() -
                         model_flops(grouped, 1).causal_attention.count();
    expect_close(saved, 6.0 * 8192 * 32 * 4096 * 2 * (4096 - 1024));
}

// MegaScale (Jiang et al., NSDI 2024, table 2): 12,288 GPUs of 312 TFLOP/s, 6,144 sequences in
// 6.34 s, 55.2% MFU. Its parallel block has no bearing on the count.
TEST(ModelFlops, ReproduceAPublishedMfu) {
    const Transformer model = gpt(96, 12288, 128, 2048, 64000);
    const ModelFlops flops = model_flops(model, 6144);
    const double mfu = flops_utilization(
        flops.full_attention, Time::seconds(6.34), FlopRate::per_second(312e12), 12288);
    EXPECT_NEAR(mfu, 0.552, 0.006);
}

}  // namespace
}  // namespace orrery
