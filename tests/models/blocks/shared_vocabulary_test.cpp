// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/shared_vocabulary.h"

#include <gtest/gtest.h>

#include "models/schedule/schedule.h"
#include "tests/models/long_context_models.h"

namespace orrery {
namespace {

ParallelPlan plan_of_stages(bool shared) {
    return {.pipeline_model_parallel_size = 4,
            .micro_batch_size = 1,
            .global_batch_size = 8,
            .overlap_p2p = true,
            .fused_cross_entropy = false,
            .vocabulary_parallel = shared};
}

Transformer model_of_stages() {
    Transformer model = small_llama(4);
    model.tied_embeddings = false;
    return model;
}

TEST(SharedVocabulary, EachStageHasAPartOfTheOutputLayer) {
    const Program alone = verified(model_of_stages(), plan_of_stages(false));
    const Program shared = verified(model_of_stages(), plan_of_stages(true));
    EXPECT_EQ(ops_called(alone, "logits").size(), 1U);
    EXPECT_EQ(ops_called(shared, "logits").size(), 4U);
    for (const char* name : {"logits", "logits dgrad", "logits wgrad"}) {
        EXPECT_DOUBLE_EQ(flop_of(shared, name), flop_of(alone, name)) << name;
    }
    EXPECT_EQ(bytes_of_tensor(shared, "logits"), bytes_of_tensor(alone, "logits") / 4);
    EXPECT_EQ(bytes_of_tensor(shared, "output_layer.weight"),
              bytes_of_tensor(alone, "output_layer.weight") / 4);
}

TEST(SharedVocabulary, EachStageHasRowsOfTheInputEmbedding) {
    const Program alone = verified(model_of_stages(), plan_of_stages(false));
    const Program shared = verified(model_of_stages(), plan_of_stages(true));
    constexpr const char* kTable = "embedding.word_embeddings.weight";
    EXPECT_EQ(bytes_of_tensor(shared, kTable), bytes_of_tensor(alone, kTable) / 4);
    for (const char* name :
         {"embedding", "embedding reduce", "embedding gradient broadcast", "embedding backward"}) {
        EXPECT_EQ(ops_called(shared, name).size(), 4U) << name;
    }
    EXPECT_EQ(ops_called(alone, "embedding").size(), 1U);
    EXPECT_TRUE(ops_called(alone, "embedding reduce").empty());
}

TEST(SharedVocabulary, TheLastStagesNormGoesToAllAndTheSumsComeBack) {
    const Program shared = verified(model_of_stages(), plan_of_stages(true));
    EXPECT_EQ(ops_called(shared, "final norm").size(), 1U);
    EXPECT_EQ(ops_called(shared, "final norm backward").size(), 1U);
    for (const char* name : {"loss input broadcast",
                             "loss maximum",
                             "loss sum",
                             "loss target",
                             "logits dgrad reduce"}) {
        std::size_t collectives = 0;
        for (const Op* op : ops_called(shared, name)) {
            collectives += op->kind() == OpKind::collective ? 1 : 0;
        }
        EXPECT_EQ(collectives, 4U) << name;
    }
}

// Each stage gathers its own ranks' parts of the sequence.
TEST(SharedVocabulary, GoesWithTensorAndSequenceParallelism) {
    ParallelPlan plan = plan_of_stages(true);
    plan.tensor_model_parallel_size = 2;
    plan.sequence_parallel = true;
    const Program shared = verified(model_of_stages(), plan);
    EXPECT_EQ(ops_called(shared, "logits gather").size(), 4U);
    plan.vocabulary_parallel = false;
    const Program alone = verified(model_of_stages(), plan);
    EXPECT_DOUBLE_EQ(flop_of(shared, "logits"), flop_of(alone, "logits"));
}

TEST(SharedVocabulary, EveryMicroBatchHasALossOnEveryStage) {
    const Program shared = verified(model_of_stages(), plan_of_stages(true));
    for (const Role& role : shared.roles) {
        for (const Pass pass : {Pass::loss_forward, Pass::embedding_forward}) {
            EXPECT_EQ(std::ranges::count(role.slots, pass, &Slot::pass), 8);
        }
    }
}

}  // namespace
}  // namespace orrery
