// SPDX-License-Identifier: Apache-2.0
// The optimizer on the host steps the same weights to the same bits.
#include "runtime/stepped_weights.h"

#include "models/blocks/parameters.h"
#include "models/plan/validate_plan.h"
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
    const StoreFolder folder;
    plan.optimizer_offload_tier = OffloadTier::file;
    ASSERT_TRUE(check(model, plan, ranks).empty());
    ASSERT_TRUE(check_trainable(model, plan, ranks).empty());
    EXPECT_EQ(train(model, plan, kSteps, {}, 0.5, {.offload_folder = folder.path()}), on_device);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));  // the files have no names
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

// A model of several windows of a file: wider than one.
TEST(SteppedWeights, AFileOfSeveralWindowsChangesNoBit) {
    Transformer model = tiny_llama();
    model.hidden_size = 128;
    model.ffn_hidden_size = 160;
    model.kv_channels = 64;
    ParallelPlan plan = offload_plan(1, ShardingStrategy::no_shard);
    expect_offload_changes_no_bit(model, plan);
    plan.optimizer_cpu_offload = true;
    plan.optimizer_offload_tier = OffloadTier::file;
    const Program program = lower(model, plan);
    std::int64_t in_file = 0;
    std::int64_t windows = 0;
    for (const Tensor& tensor : program.tensors) {
        if (tensor.tier == MemoryTier::nvme) {
            in_file += tensor.bytes.count();
            ++windows;
        }
    }
    EXPECT_GE(windows, 3);
    EXPECT_EQ(in_file, 12 * num_parameters(model));
}

TEST(SteppedWeights, AFileNeedsAFolderThatCanHaveIt) {
    ParallelPlan plan = offload_plan(1, ShardingStrategy::no_shard);
    plan.optimizer_cpu_offload = true;
    plan.optimizer_offload_tier = OffloadTier::file;
    const Program program = lower(tiny_gpt(), plan);
    for (const char* folder : {"", "/dev/null/folder"}) {
        const auto made =
            CpuExecutor::create(program, RankId{0}, nullptr, {.offload_folder = folder});
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().where, "job.offload_folder");
        EXPECT_FALSE(made.error().hint.empty());
    }
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
