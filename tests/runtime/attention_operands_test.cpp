// SPDX-License-Identifier: Apache-2.0
#include "runtime/attention_operands.h"

#include "runtime/cpu/cpu_kernels.h"
#include "tests/runtime/rank_training.h"

namespace orrery {
namespace {

// What the attention ops of the first rank of a ring of two ask for, in order.
struct Asked {
    std::vector<AttentionCall<cpu::AttentionForward>> forward;
    std::vector<AttentionCall<cpu::AttentionBackward>> backward;
    std::vector<bool> begins;
};

Asked ring_of_two(double dropout) {
    Transformer model = tiny_llama();
    model.num_layers = 1;
    model.dropout = dropout;
    ParallelPlan plan = plan_of(1, 1, ShardingStrategy::no_shard);
    plan.global_batch_size = 1;
    plan.context_parallel_size = 2;
    plan.context_parallel_comm = ContextParallelComm::ring;
    Asked asked;
    std::mutex lock;
    train(model, plan, 1, [&]() -> CpuExecutor::KernelRunner {
        return [&](const BoundOp& op) {
            run_on_cpu(op);
            if (op.rank != RankId{0}) {
                return;
            }
            const std::scoped_lock guard{lock};
            if (op.call.kind == KernelKind::attention_forward) {
                asked.forward.push_back(attention_forward_call(op));
            } else if (op.call.kind == KernelKind::attention_backward) {
                asked.backward.push_back(attention_backward_call(op));
                asked.begins.push_back(!begun_packed_gradient(op).empty());
            }
        };
    });
    return asked;
}

TEST(AttentionOperands, AStepOfARingTakesAnothersKeysAndMerges) {
    const Asked asked = ring_of_two(0);
    ASSERT_EQ(asked.forward.size(), 2u);
    // Quarters 0 and 3 of eight tokens are the rank's own, 1 and 2 the other's.
    const auto& own = asked.forward[0];
    const auto& other = asked.forward[1];
    EXPECT_EQ(own.positions.query, balanced_positions(4, 0, 2));
    EXPECT_EQ(own.positions.key, own.positions.query);
    EXPECT_EQ(other.positions.key, balanced_positions(4, 1, 2));
    EXPECT_FALSE(own.operands.merge);
    EXPECT_TRUE(other.operands.merge);
    EXPECT_EQ(other.operands.output.data, own.operands.output.data);
    EXPECT_NE(other.operands.k.tensor.data, own.operands.k.tensor.data);
    EXPECT_EQ(other.shape.seq_kv, 4);
    EXPECT_TRUE(own.scalars.empty());
}

// The other's block comes first: its step begins the gradient of the queries, to which the own
// adds.
TEST(AttentionOperands, TheFirstStepBackBeginsTheGradientOfTheQueries) {
    const Asked asked = ring_of_two(0);
    ASSERT_EQ(asked.backward.size(), 2u);
    EXPECT_EQ(asked.backward[0].positions.key, balanced_positions(4, 1, 2));
    EXPECT_EQ(asked.begins, (std::vector{true, false}));
    EXPECT_FALSE(asked.backward[0].operands.accumulate_dq);
    EXPECT_TRUE(asked.backward[1].operands.accumulate_dq);
    EXPECT_EQ(asked.backward[0].operands.dq.tensor.data, asked.backward[1].operands.dq.tensor.data);
    EXPECT_NE(asked.backward[0].operands.dk.tensor.data, asked.backward[0].operands.dq.tensor.data);
}

TEST(AttentionOperands, DropoutGoesByThePlaceInTheWholeTensor) {
    const Asked asked = ring_of_two(0.1);
    ASSERT_EQ(asked.forward.size(), 2u);
    const cpu::AttentionDropout& dropout = asked.forward[1].operands.dropout;
    EXPECT_EQ(asked.forward[1].scalars.size, kNumDeviceScalars);
    EXPECT_EQ(dropout.all_heads, 2);
    EXPECT_EQ(dropout.sequence, 8);
    EXPECT_EQ(dropout.key.purpose, RandomPurpose::attention_dropout);
    EXPECT_EQ(dropout.key, asked.backward[1].operands.dropout.key);
}

}  // namespace
}  // namespace orrery
