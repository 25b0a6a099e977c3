// SPDX-License-Identifier: Apache-2.0
// The optimizer on the host steps the same weights to the same bits.
#include "runtime/stepped_weights.h"

#include "models/validate_plan.h"
#include "runtime/trainable.h"
#include "tests/runtime/rank_training.h"

namespace orrery {
namespace {

ParallelPlan offload_plan(std::int64_t dp, ShardingStrategy sharding) {
    ParallelPlan plan = plan_of(1, dp, sharding);
    plan.precision = Dtype::bf16;
    return plan;
}

void expect_offload_changes_no_bit(const Transformer& model, ParallelPlan plan) {
    plan = plan.launched_from_cpp();
    const std::int64_t ranks = plan.model_parallel_size() * plan.data_parallel_size;
    const Training on_device = train(model, plan);
    plan.optimizer_cpu_offload = true;
    ASSERT_TRUE(check(model, plan, ranks).empty());
    ASSERT_TRUE(check_trainable(model, plan, ranks).empty());
    EXPECT_EQ(train(model, plan), on_device);
}

TEST(SteppedWeights, AreThoseThatTheCopyBehindTheHostsStepNames) {
    ParallelPlan plan = offload_plan(1, ShardingStrategy::no_shard);
    const auto stepped = [&] {
        const Program program = lower(tiny_gpt(), plan);
        std::vector<std::string> names;
        for (const Slot& slot : program.roles[0].slots) {
            const Segment& segment = program.segment_of(slot);
            for (const Op& op : segment.ops) {
                if (op.kind() == OpKind::kernel && program.kernel(op).kind == KernelKind::adamw) {
                    for (const TensorId id : stepped_weights(program, segment, op)) {
                        names.push_back(program.tensors[index(id)].name);
                    }
                }
            }
        }
        return names;
    };
    const std::vector<std::string> on_device = stepped();
    EXPECT_GT(on_device.size(), 10u);
    plan.optimizer_cpu_offload = true;
    EXPECT_EQ(stepped(), on_device);
}

TEST(SteppedWeights, OffloadChangesNoBit) {
    expect_offload_changes_no_bit(tiny_gpt(), offload_plan(1, ShardingStrategy::no_shard));
    expect_offload_changes_no_bit(tiny_llama(), offload_plan(2, ShardingStrategy::no_shard));
    expect_offload_changes_no_bit(tiny_gpt(), offload_plan(4, ShardingStrategy::optim));
    expect_offload_changes_no_bit(tiny_llama(), offload_plan(2, ShardingStrategy::optim_grads));
    ParallelPlan stochastic = offload_plan(2, ShardingStrategy::optim);
    stochastic.bf16_stochastic_round = true;
    expect_offload_changes_no_bit(tiny_gpt(), stochastic);
}

TEST(SteppedWeights, OfExpertsToo) {
    Transformer model = tiny_llama();
    model.num_experts = 4;
    ParallelPlan plan = offload_plan(4, ShardingStrategy::optim);
    plan.expert_model_parallel_size = 2;
    expect_offload_changes_no_bit(model, plan);
}

}  // namespace
}  // namespace orrery
