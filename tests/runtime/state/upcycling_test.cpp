// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/upcycling.h"

#include "runtime/state/training_state.h"
#include "tests/runtime/tiny_model.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

Transformer upcycled_llama() {
    Transformer model = tiny_llama();
    model.num_experts = 4;
    return model;
}

RunState upcycled_state(const Transformer& model, const ParallelPlan& plan) {
    return {.model = model,
            .precision = "fp32",
            .main_params_dtype = "fp32",
            .seed = 1,
            .global_batch_size = plan.global_batch_size,
            .step = 1,
            .consumed_samples = 4};
}

TEST(Upcycling, TheFirstLossIsThatOfTheDenseModel) {
    const TestFolder folder;
    const ParallelPlan plan = tiny_plan().launched_from_cpp();
    TinyRun dense{tiny_llama(), plan};
    ASSERT_TRUE(save_training(dense.executor(), upcycled_state(tiny_llama(), plan), folder.path()));
    ASSERT_TRUE(export_weights(folder.path(), folder / "dense.safetensors", "F32"));
    ASSERT_TRUE(dense.executor().run_forward());
    for (const std::int64_t topk : {1, 2, 4}) {
        Transformer model = upcycled_llama();
        model.moe_router_topk = topk;
        TinyRun experts{model, plan, 1};
        const std::vector<float> router = experts.values("layers.0.mlp.router.weight");
        ASSERT_TRUE(experts.executor().run_forward());
        EXPECT_GT(std::abs(experts.loss() - dense.loss()), 1e-3);
        const auto done = import_weights(experts.executor(), model, folder / "dense.safetensors");
        ASSERT_TRUE(done) << done.error().front().to_string();
        ASSERT_TRUE(experts.executor().run_forward());
        EXPECT_NEAR(experts.loss(), dense.loss(), 2e-6 * dense.loss());
        EXPECT_EQ(experts.values("layers.0.mlp.router.weight"), router);
    }
}

TEST(Upcycling, RefusesLayersThatTheDenseModelHasNot) {
    Transformer model = upcycled_llama();
    EXPECT_TRUE(dense_counterpart(model));
    EXPECT_EQ(dense_counterpart(tiny_llama())->ffn_hidden_size, tiny_llama().ffn_hidden_size);
    model.moe_ffn_hidden_size = 8;
    EXPECT_EQ(dense_counterpart(model)->ffn_hidden_size, 8);
    model.first_k_dense_replace = 1;
    EXPECT_FALSE(dense_counterpart(model));
    model = upcycled_llama();
    model.moe_shared_expert_intermediate_size = 8;
    EXPECT_FALSE(dense_counterpart(model));
}

}  // namespace
}  // namespace orrery
