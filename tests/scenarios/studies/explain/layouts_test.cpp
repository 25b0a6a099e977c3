// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/explain/layouts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/lowering/lowering.h"
#include "tests/models/known_models.h"

namespace orrery {
namespace {

StageLayouts layouts(const ParallelPlan& plan) {
    return layouts_of(lower(gpt(4, 128, 8, 64, 512), plan), RoleId{0});
}

// The row of a tensor; with several of them the first.
const LayoutRow& row_of(const StageLayouts& stage, std::string_view tensor) {
    const auto found = std::ranges::find_if(stage.rows, [&](const LayoutRow& row) {
        return std::ranges::count(row.tensors, tensor) > 0;
    });
    EXPECT_NE(found, stage.rows.end()) << tensor;
    return *found;
}

const LayoutTransfer& transfer(const LayoutRow& row, std::string_view name) {
    const auto found = std::ranges::find(row.transfers, name, &LayoutTransfer::name);
    EXPECT_NE(found, row.transfers.end()) << name;
    return *found;
}

TEST(Layouts, OfZero1AreWholeInMemoryAndShardsInTheStep) {
    const StageLayouts stage = layouts({.tensor_model_parallel_size = 2,
                                        .data_parallel_size = 4,
                                        .data_parallel_sharding_strategy = ShardingStrategy::optim,
                                        .global_batch_size = 8});
    EXPECT_EQ(stage.mesh, "tp 2, cp 1, dp 4, pp 1");
    const LayoutRow& weight = row_of(stage, "layers.*.mlp.linear_fc1.weight");
    EXPECT_EQ(weight.phase, "between steps");
    EXPECT_EQ(weight.placement, "tp/columns");
    EXPECT_EQ(weight.step_placement, "tp/columns dp/elements");
    EXPECT_EQ(weight.codec, Dtype::bf16);
    const LayoutTransfer& gather = transfer(weight, "parameter gather");
    EXPECT_EQ(gather.kind, "all_gather");
    EXPECT_EQ(gather.over, "dp");
    EXPECT_EQ(gather.times, 1);
    const LayoutRow& gradient = row_of(stage, "layers.*.mlp.linear_fc1.weight gradient");
    EXPECT_EQ(gradient.codec, Dtype::fp32);
    EXPECT_EQ(transfer(gradient, "gradient reduce").kind, "reduce_scatter");
    EXPECT_EQ(row_of(stage, "stage 0 optimizer state").placement, "dp/elements");
    EXPECT_EQ(row_of(stage, "fc2").placement, "tp+sum dp/batch");
    EXPECT_EQ(transfer(row_of(stage, "fc2"), "fc2 reduce").kind, "all_reduce");
}

// Two micro-batches, four layers: eight gathers of the layers' units in the forward passes.
TEST(Layouts, OfZero3CountEachGather) {
    ParallelPlan plan{.data_parallel_size = 4,
                      .data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params,
                      .zero_hpz_partition_size = 2,
                      .global_batch_size = 8};
    const StageLayouts stage = layouts(plan);
    const LayoutRow& shard = row_of(stage, "layers.*.mlp.linear_fc1.weight");
    EXPECT_EQ(shard.placement, "dpz/elements dps/elements");
    EXPECT_EQ(transfer(shard, "weights gather").times, 2 * (4 + 2));  // embedding and head too
    EXPECT_EQ(transfer(shard, "weights gather").over, "dp");
    const LayoutRow& secondary = row_of(stage, "layers.*.mlp.linear_fc1.weight secondary");
    EXPECT_EQ(secondary.placement, "dpz/elements");
    EXPECT_EQ(transfer(secondary, "weights gather").over, "dpz");
    EXPECT_EQ(row_of(stage, "layers.*.mlp.linear_fc1.weight gathered").phase, "forward");
}

// The bytes of all rows are those of all tensors, and no transfer counts twice.
TEST(Layouts, CoverTheStage) {
    const ParallelPlan plan{.tensor_model_parallel_size = 2,
                            .pipeline_model_parallel_size = 2,
                            .data_parallel_size = 2,
                            .sequence_parallel = true,
                            .global_batch_size = 8};
    const Program program = lower(gpt(4, 128, 8, 64, 512), plan);
    const StageLayouts stage = layouts_of(program, RoleId{1});
    EXPECT_EQ(stage.role, "pp 1");
    Bytes gradients;
    std::int64_t received = 0;
    for (const LayoutRow& row : stage.rows) {
        gradients += row.kind == TensorKind::gradients ? row.bytes : Bytes{};
        for (const LayoutTransfer& one : row.transfers) {
            received += one.name == "receive forward" ? one.times : 0;
        }
    }
    Bytes expected;
    for (const Tensor& tensor : program.tensors) {
        const bool here = tensor.name.find("layers.2.") == 0 ||
                          tensor.name.find("layers.3.") == 0 || tensor.name.find("final") == 0 ||
                          tensor.name.find("output") == 0;
        expected += here && tensor.kind == TensorKind::gradients ? tensor.bytes : Bytes{};
    }
    EXPECT_EQ(gradients, expected);
    EXPECT_EQ(received, plan.num_micro_batches());
}

}  // namespace
}  // namespace orrery
