// SPDX-License-Identifier: Apache-2.0
// When ZeRO 3 gathers what, and over which ranks. Bytes in all: gradient_sync_test.cpp.
#include "models/blocks/unit_weights.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/program/verifier.h"
#include "models/lowering/lowering.h"
#include "models/memory/memory.h"
#include "models/plan/validate_plan.h"
#include "tests/models/known_models.h"
#include "tests/models/program_sums.h"

namespace orrery {
namespace {

constexpr std::int64_t kModelLayers = 6;

Transformer layered_model() {
    Transformer model = gpt(kModelLayers, 128, 8, 64, 512);
    model.tied_embeddings = false;
    return model;
}

ParallelPlan sharded_plan() {
    return {.data_parallel_size = 8,
            .data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params,
            .global_batch_size = 8,
            .overlap_param_gather = true};
}

const Segment& segment(const Program& program, std::string_view name) {
    const auto found = std::ranges::find_if(
        program.segments, [&](const Segment& s) { return s.name.ends_with(name); });
    EXPECT_NE(found, program.segments.end());
    return *found;
}

// Positions of the ops with this name.
std::vector<std::size_t> ops_named(const Program& program,
                                   const Segment& segment,
                                   std::string_view name) {
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < segment.ops.size(); ++i) {
        if (program.names[segment.ops[i].name] == name) {
            positions.push_back(i);
        }
    }
    return positions;
}

std::size_t gathers(const ParallelPlan& plan, std::string_view pass) {
    const Program program = lower(layered_model(), plan);
    return ops_named(program, segment(program, pass), "weights gather").size();
}

TEST(UnitWeights, AUnitIsTheEmbeddingSomeLayersOrTheHead) {
    ParallelPlan plan = sharded_plan();
    EXPECT_EQ(gathers(plan, "forward"), kModelLayers + 2u);
    plan.fsdp_unit_layers = 2;
    EXPECT_EQ(gathers(plan, "forward"), kModelLayers / 2 + 2u);
    EXPECT_EQ(gathers(plan, "backward"), kModelLayers / 2 + 2u);
    plan.fsdp_unit_layers = 4;  // four layers, then two
    EXPECT_EQ(gathers(plan, "forward"), 2 + 2u);
    plan.fsdp_unit_layers = 0;
    const std::size_t parameters = 2 + 10 * kModelLayers + 2;
    EXPECT_EQ(gathers(plan, "forward"), parameters);
}

// The layer's first kernel is a norm: units gathered before it are counted.
TEST(UnitWeights, AreGatheredAheadByThePrefetchDistance) {
    for (const std::int64_t ahead : {1, 2, 3}) {
        ParallelPlan plan = sharded_plan();
        plan.fsdp_prefetch_units = ahead;
        const Program program = lower(layered_model(), plan);
        const Segment& forward = segment(program, "forward");
        const auto asked = ops_named(program, forward, "weights gather");
        const auto norms = ops_named(program, forward, "norm 1");
        ASSERT_EQ(norms.size(), static_cast<std::size_t>(kModelLayers));
        for (std::size_t layer = 0; layer < norms.size(); ++layer) {
            const auto before = std::ranges::count_if(
                asked, [&](std::size_t gather) { return gather < norms[layer]; });
            EXPECT_EQ(before,
                      std::min<std::int64_t>(static_cast<std::int64_t>(layer) + 2 + ahead,
                                             kModelLayers + 2));
        }
    }
}

TEST(UnitWeights, MoreAheadAndLargerUnitsTakeMoreMemory) {
    const auto peak = [](const ParallelPlan& plan) {
        return largest_plan(lower(layered_model(), plan)).count();
    };
    ParallelPlan plan = sharded_plan();
    plan.overlap_param_gather = false;
    const std::int64_t alone = peak(plan);
    plan.overlap_param_gather = true;
    const std::int64_t next = peak(plan);
    plan.fsdp_prefetch_units = 3;
    const std::int64_t three = peak(plan);
    plan.fsdp_unit_layers = 3;
    EXPECT_LT(alone, next);
    EXPECT_LT(next, three);
    EXPECT_LT(three, peak(plan));
}

TEST(UnitWeights, ThatAreKeptAreGatheredOnce) {
    ParallelPlan plan = sharded_plan();
    plan.reshard_after_forward = false;
    EXPECT_EQ(gathers(plan, "forward"), kModelLayers + 2u);
    EXPECT_EQ(gathers(plan, "backward"), 0u);
    // All weights are whole at the end of the forward pass.
    const Transformer model = layered_model();
    ParallelPlan again = plan;
    again.reshard_after_forward = true;
    const auto peak = [&](const ParallelPlan& p) { return largest_plan(lower(model, p)).count(); };
    EXPECT_GT(peak(plan) - peak(again), num_parameters(model) / 2 * size_bytes(Dtype::bf16));
}

// hpZ: the forward pass gathers over all ranks, the backward pass over neighbours.
TEST(UnitWeights, BackwardPassesGatherFromTheSecondaryCopy) {
    ParallelPlan plan = sharded_plan();
    plan.zero_hpz_partition_size = 2;
    const Transformer model = layered_model();
    const Program program = lower(model, plan);
    const auto group_of = [&](std::string_view pass) {
        const Segment& ops = segment(program, pass);
        const Op& gather = ops.ops[ops_named(program, ops, "weights gather").front()];
        return program.groups[index(program.collective(gather).group)].name;
    };
    EXPECT_EQ(group_of("forward"), "dp");
    EXPECT_EQ(group_of("backward"), "dpz");
    // A part of each unit is kept, once: half of all weights, in 16 bits.
    const Segment& forward = segment(program, "forward");
    EXPECT_EQ(ops_named(program, forward, "secondary weights").size(), kModelLayers + 2u);
    std::int64_t kept = 0;
    for (const Tensor& tensor : program.tensors) {
        kept += tensor.name.ends_with(" secondary") ? tensor.bytes.count() : 0;
    }
    EXPECT_EQ(kept, num_parameters(model) / 2 * size_bytes(Dtype::bf16));
    plan.zero_hpz_partition_size = 0;
    EXPECT_GT(largest_plan(program), largest_plan(lower(model, plan)));
}

// FP8 on the wire is for the layers: embedding and head travel in 16 bits.
TEST(UnitWeights, OfLayersTravelAsFp8) {
    ParallelPlan plan = sharded_plan();
    plan.precision = Dtype::fp8;
    plan.fp8_recipe = Fp8Recipe::tensorwise;
    const Program cast = lower(layered_model(), plan);
    plan.fp8_param_gather = true;
    const Program travelling = lower(layered_model(), plan);
    for (const std::string_view pass : {"forward", "backward"}) {
        const Segment& before = segment(cast, pass);
        EXPECT_EQ(ops_named(cast, before, "weights maximum").size(), kModelLayers + 0u);
        EXPECT_EQ(ops_named(cast, before, "weights cast").size(), kModelLayers + 0u);
        const Segment& after = segment(travelling, pass);
        EXPECT_EQ(ops_named(travelling, after, "weights cast").size(), 0u);
        EXPECT_EQ(ops_named(travelling, after, "weights quantise").size(), kModelLayers + 0u);
        std::size_t narrow = 0;
        for (const std::size_t i : ops_named(travelling, after, "weights gather")) {
            narrow += travelling.collective(after.ops[i]).wire == Dtype::uint8 ? 1u : 0u;
        }
        EXPECT_EQ(narrow, kModelLayers + 0u);
        // Nothing that is computed waits for a unit that is not in use yet.
        const auto gathered = ops_named(travelling, after, "weights gather");
        const auto transposed = ops_named(travelling, after, "weights transpose");
        ASSERT_EQ(transposed.size(), kModelLayers + 0u);
        for (std::size_t layer = 0; layer + 1 < transposed.size(); ++layer) {
            EXPECT_GT(transposed[layer], gathered[layer + 2]);
        }
    }
    // Rows are known where they are cast; a column is known when all rows are.
    plan.fp8_param_gather = false;
    plan.fp8_recipe = Fp8Recipe::rowwise;
    const Program rows = lower(layered_model(), plan);
    EXPECT_EQ(ops_named(rows, segment(rows, "forward"), "weights maximum").size(), 0u);
    EXPECT_EQ(ops_named(rows, segment(rows, "backward"), "weights maximum").size(),
              kModelLayers + 0u);
    // Delayed scaling has what it needs from the step before.
    plan.fp8_recipe = Fp8Recipe::delayed;
    plan.fp8_param_gather = false;
    const Program delayed = lower(layered_model(), plan);
    EXPECT_EQ(ops_named(delayed, segment(delayed, "forward"), "weights cast").size(), 0u);
}

// PyTorch's fully_shard copies each unit out of the buffer that it was gathered into.
TEST(UnitWeights, AreCopiedOutOnceAUnit) {
    ParallelPlan plan = sharded_plan();
    const auto copies = [&](std::string_view pass) {
        const Program program = lower(layered_model(), plan);
        return ops_named(program, segment(program, pass), "weights copy out").size();
    };
    EXPECT_EQ(copies("forward"), 0u);
    plan.fsdp_copy_out = true;
    EXPECT_EQ(copies("forward"), kModelLayers + 2u);
    EXPECT_EQ(copies("backward"), kModelLayers + 2u);
    plan.reshard_after_forward = false;
    EXPECT_EQ(copies("backward"), 0u);
}

TEST(UnitWeights, MovedAsListsLeaveSmallParametersWhole) {
    Transformer model = gpt(1, 512, 8, 64, 1024);
    model.tied_embeddings = false;
    ParallelPlan plan = sharded_plan();
    plan.fsdp_unit_layers = 0;
    const auto count = [&](std::string_view pass) {
        const Program program = lower(model, plan);
        return ops_named(program, segment(program, pass), "weights gather").size();
    };
    const std::size_t each = count("forward");
    plan.fsdp_copy_out = true;
    EXPECT_LT(count("forward"), each);
    EXPECT_GE(count("forward"), 6u);  // two embeddings, four products
    EXPECT_EQ(count("backward"), count("forward"));
}

// A layer's products in millions of elements: QKV 0.79, projection 0.26, fc1 and fc2 1.05 each.
TEST(UnitWeights, ThatAreFreedBeforeTheBackwardPassAreGatheredTwice) {
    Transformer model = gpt(2, 512, 8, 64, 1024);
    model.tied_embeddings = false;
    ParallelPlan plan = sharded_plan();
    plan.fsdp_unit_layers = 0;
    plan.fsdp_copy_out = true;
    const auto count = [&](std::string_view pass) {
        const Program program = lower(model, plan);
        EXPECT_TRUE(verify(program).empty());
        return ops_named(program, segment(program, pass), "weights gather").size();
    };
    plan.recompute_granularity = Recompute::full;
    const std::size_t once = count("backward");
    plan.stage3_max_reuse_distance = 3'000'000;  // QKV and the projection, with their vectors
    EXPECT_EQ(count("backward"), once + 2 * 2u);
    plan.stage3_max_reuse_distance = 0;
    EXPECT_EQ(count("backward"), once + 2 * 4u);
    plan.recompute_granularity = Recompute::none;
    EXPECT_EQ(count("backward"), once);
}

// Without overlap_param_gather no product runs beside the second gather.
TEST(UnitWeights, ThatAreGatheredTwiceHideTheGatherOnlyWithOverlap) {
    Transformer model = layered_model();
    ParallelPlan plan = sharded_plan();
    plan.recompute_granularity = Recompute::full;
    plan.stage3_max_reuse_distance = 200'000;
    for (const bool overlap : {false, true}) {
        plan.overlap_param_gather = overlap;
        const Program program = lower(model, plan);
        const Segment& backward = segment(program, "backward");
        const auto gathers = ops_named(program, backward, "weights gather");
        const auto last = ops_named(program, backward, "fc2 dgrad").back();
        const auto before =
            static_cast<std::uint32_t>(*std::prev(std::ranges::upper_bound(gathers, last)));
        const Op& op = backward.ops[before + 1];
        const auto waits = std::span{program.waits}.subspan(op.first_wait, op.num_waits);
        EXPECT_EQ(std::ranges::count(waits, before) == 1, !overlap);
    }
}

}  // namespace
}  // namespace orrery
