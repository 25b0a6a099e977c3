// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/context_gather.h"

#include <gtest/gtest.h>

#include "models/lowering/lowering.h"
#include "tests/models/known_models.h"
#include "tests/models/long_context_models.h"
#include "tests/models/program_sums.h"

namespace orrery {
namespace context_gather_test {

constexpr std::int64_t kLayers = 4;
constexpr std::int64_t kSequenceLength = 64;
constexpr std::int64_t kMicroBatch = 2;
constexpr std::int64_t kMicroBatches = 3;

Transformer model_of_groups() {
    Transformer model = gpt(kLayers, 128, 8, kSequenceLength, 512);
    model.num_query_groups = 2;
    return model;
}

Program program_of(std::int64_t cp, ContextParallelComm comm) {
    return lower(model_of_groups(),
                 {.tensor_model_parallel_size = 2,
                  .context_parallel_size = cp,
                  .context_parallel_comm = comm,
                  .micro_batch_size = kMicroBatch,
                  .global_batch_size = kMicroBatch * kMicroBatches});
}

// Transformer Engine's AttnFuncWithCPAndKVAllGather: keys and values come in either pass, and their
// gradients go once.
TEST(ContextGather, MovesKeysInEachPassAndTheirGradientsOnce) {
    for (const std::int64_t cp : {2, 4, 8}) {
        const Program program = program_of(cp, ContextParallelComm::all_gather);
        const TrafficTable table = traffic(program, program.roles[0]);
        const std::int64_t times = kMicroBatches * kLayers;
        const std::int64_t columns = 2 * model_of_groups().kv_size() / 2;
        const std::int64_t sequence = kMicroBatch * kSequenceLength * columns * 2;
        EXPECT_EQ(table.at({"all_gather", "cp"}), (TrafficSum{2 * times, 2 * times * sequence}));
        EXPECT_EQ(table.at({"reduce_scatter", "cp"}), (TrafficSum{times, times * sequence}));
        EXPECT_FALSE(table.contains({"send", "key value ring"}));
    }
}

// Both attend to the keys that a causal mask shows, in another number of kernels.
TEST(ContextGather, ComputesWhatTheRingComputes) {
    for (const std::int64_t cp : {2, 4, 8}) {
        const Program gathered = program_of(cp, ContextParallelComm::all_gather);
        const Program ring = program_of(cp, ContextParallelComm::ring);
        for (const KernelKind kind :
             {KernelKind::attention_forward, KernelKind::attention_backward}) {
            EXPECT_EQ(executed_flop(gathered, kind), executed_flop(ring, kind)) << cp;
        }
    }
}

// What torchtitan adds: a copy of each key-value head for each query head, and sums in fp32.
TEST(ContextGather, MovesCopiesOfHeadsAndGradientsInFp32) {
    const Transformer model = model_of_groups();
    ParallelPlan plan{.context_parallel_size = 4,
                      .context_parallel_comm = ContextParallelComm::all_gather,
                      .micro_batch_size = kMicroBatch,
                      .global_batch_size = kMicroBatch * kMicroBatches};
    const auto bytes = [&](const char* collective) {
        const Program program = lower(model, plan);
        return traffic(program, program.roles[0]).at({collective, "cp"}).bytes;
    };
    const std::int64_t gathered = bytes("all_gather");
    const std::int64_t reduced = bytes("reduce_scatter");
    plan.repeat_key_value_heads = true;
    const std::int64_t copies = model.num_attention_heads / model.num_query_groups;
    EXPECT_EQ(bytes("all_gather"), copies * gathered);
    EXPECT_EQ(bytes("reduce_scatter"), copies * reduced);
    plan.context_parallel_fp32_gradients = true;
    EXPECT_EQ(bytes("all_gather"), copies * gathered);
    EXPECT_EQ(bytes("reduce_scatter"), 2 * copies * reduced);
    plan.context_parallel_comm = ContextParallelComm::ring;
    const Program ring = lower(model, plan);
    const TrafficTable table = traffic(ring, ring.roles[0]);
    EXPECT_EQ(table.at({"send", "key value gradient ring"}).bytes,
              2 * table.at({"send", "key value ring"}).bytes);
}

// torchtitan's repeat_kv reads K and V and writes their copies. Q stays where it is.
TEST(ContextGather, CopiesOfHeadsMoveKeysAndValuesAlone) {
    const Transformer model = model_of_groups();
    ParallelPlan plan{.micro_batch_size = kMicroBatch, .global_batch_size = kMicroBatch};
    plan.repeat_key_value_heads = true;
    const Program program = lower(model, plan);
    const std::int64_t copies = model.num_attention_heads / model.num_query_groups;
    const std::int64_t moved =
        2 * model.kv_size() * (1 + copies) * model.seq_length * kMicroBatch * 2;
    for (const char* const name : {"key value head copies", "key value gradient sum"}) {
        const std::vector<const Op*> ops = ops_called(program, name);
        ASSERT_FALSE(ops.empty()) << name;
        EXPECT_EQ(program.kernel(*ops.front()).bytes, moved) << name;
    }
}

}  // namespace context_gather_test
}  // namespace orrery
