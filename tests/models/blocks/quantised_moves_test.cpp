// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/quantised_moves.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/program/verifier.h"
#include "models/lowering/lowering.h"
#include "models/plan/validate_plan.h"
#include "tests/models/known_models.h"

namespace orrery {
namespace {

Transformer model_of_six() {
    Transformer model = gpt(6, 128, 8, 64, 512);
    model.tied_embeddings = false;
    return model;
}

ParallelPlan quantised_plan() {
    return {.data_parallel_size = 8,
            .data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params,
            .global_batch_size = 8,
            .overlap_param_gather = true};
}

// The ops with this name of the segment whose name ends so.
std::vector<Op> ops_named(const Program& program, std::string_view pass, std::string_view name) {
    const auto found = std::ranges::find_if(
        program.segments, [&](const Segment& s) { return s.name.ends_with(pass); });
    EXPECT_NE(found, program.segments.end());
    std::vector<Op> ops;
    std::ranges::copy_if(found->ops, std::back_inserter(ops), [&](const Op& op) {
        return program.names[op.name] == name;
    });
    return ops;
}

TEST(QuantisedMoves, AScaleOfWeightsIsOfLessThanEightThousand) {
    EXPECT_EQ(quantised_shard(16).block, 16);
    EXPECT_EQ(quantised_shard(8000).block, 8000);
    EXPECT_EQ(quantised_shard(8008).block, 4008);  // two blocks of whole bytes of codes
    for (const std::int64_t elements : {1, 7999, 8001, 123'456'789}) {
        const QuantisedVector v = quantised_shard(elements);
        EXPECT_LE(v.block, kGatheredBlock);
        EXPECT_EQ(v.blocks(), (elements + 7999) / 8000);
    }
}

// ZeRO++'s qwZ: one byte a weight and a scale a block on the wire, instead of two bytes a weight.
TEST(QuantisedMoves, WeightsTravelAsOneByteEach) {
    ParallelPlan plan = quantised_plan();
    const Program plain = lower(model_of_six(), plan);
    plan.zero_quantized_weights = true;
    const Program quantised = lower(model_of_six(), plan);
    EXPECT_TRUE(verify(quantised).empty());
    for (const std::string_view pass : {"forward", "backward"}) {
        const std::vector<Op> before = ops_named(plain, pass, "weights gather");
        const std::vector<Op> after = ops_named(quantised, pass, "weights gather");
        ASSERT_EQ(before.size(), after.size());
        EXPECT_EQ(ops_named(quantised, pass, "weights quantise").size(), after.size());
        EXPECT_EQ(ops_named(quantised, pass, "weights dequantise").size(), after.size());
        for (std::size_t i = 0; i < after.size(); ++i) {
            const std::int64_t elements = plain.collective(before[i]).bytes.count() / 2;
            const CollectiveCall& gather = quantised.collective(after[i]);
            EXPECT_EQ(gather.wire, Dtype::int8);
            EXPECT_EQ(gather.bytes.count(), 8 * quantised_shard(elements / 8).bytes());
        }
    }
    plan.data_parallel_sharding_strategy = ShardingStrategy::optim;
    const Errors errors = check(model_of_six(), plan, 8);
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_EQ(errors[0].where, "plan.zero_quantized_weights");
}

// Inside the groups of a secondary copy, and then between them: half a byte an element, and of the
// second hop a group's part only. Norms and biases travel as they are.
TEST(QuantisedMoves, GradientsOfMatricesAreExchangedInTwoHops) {
    ParallelPlan plan = quantised_plan();
    plan.zero_hpz_partition_size = 4;
    const Program plain = lower(model_of_six(), plan);
    plan.zero_quantized_gradients = true;
    EXPECT_TRUE(check(model_of_six(), plan, 8).empty());
    const Program quantised = lower(model_of_six(), plan);
    EXPECT_TRUE(verify(quantised).empty());
    const std::vector<Op> scatters = ops_named(plain, "backward", "gradients scatter");
    const std::vector<Op> hops = ops_named(quantised, "backward", "gradients exchange");
    const std::vector<Op> vectors = ops_named(quantised, "backward", "gradients scatter");
    const auto bytes = [](const Program& program, const Op& op) {
        return program.collective(op).bytes.count();
    };
    std::int64_t all = 0;
    for (const Op& op : scatters) {
        all += bytes(plain, op);
    }
    for (const Op& op : vectors) {
        all -= bytes(quantised, op);
    }
    std::int64_t codes = 0;
    ASSERT_EQ(hops.size() % 2, 0u);
    EXPECT_EQ(hops.size(), 2 * scatters.size());  // each unit has a matrix
    for (std::size_t i = 0; i < hops.size(); i += 2) {
        EXPECT_EQ(quantised.collective(hops[i]).kind, CollectiveKind::all_to_all);
        EXPECT_EQ(bytes(quantised, hops[i]), 4 * bytes(quantised, hops[i + 1]));
        codes += bytes(quantised, hops[i]);
    }
    // An eighth of fp32, and a scale for as many elements as the shorter side of a matrix has.
    EXPECT_GT(codes, all / 8);
    EXPECT_LE(codes, all / 8 + all / 4 / 64 * 4);
}

// The parts of a matrix [128, 384] among eight ranks: 384 scales.
TEST(QuantisedMoves, AMatrixHasAsManyScalesAsItsLongerSide) {
    ParallelPlan plan = quantised_plan();
    plan.fsdp_unit_layers = 0;  // each parameter by itself
    plan.zero_quantized_gradients = true;
    const Program program = lower(model_of_six(), plan);
    bool found = false;
    for (const Op& op : ops_named(program, "backward", "gradients quantise")) {
        const QuantisedVector v = quantised_vector(program.kernel(op));
        EXPECT_EQ(v.parts, 8);
        EXPECT_EQ(v.bits, 4);
        if (v.parts * v.elements == 128 * 384) {
            found = true;
            EXPECT_EQ(v.parts * v.blocks(), 384);
        }
    }
    EXPECT_TRUE(found);
}

// Twelve ranks do not divide a matrix [128, 128] into parts of whole bytes of codes. DeepSpeed
// quantised it nevertheless before 0.13.2.
TEST(QuantisedMoves, AMatrixThatRanksDoNotDivideTravelsAsItIsSinceAFallback) {
    ParallelPlan plan = quantised_plan();
    plan.data_parallel_size = plan.global_batch_size = 12;
    plan.fsdp_unit_layers = 0;  // each parameter by itself
    plan.zero_quantized_gradients = true;
    const auto exchanges = [&](bool uneven) {
        plan.zero_quantized_gradients_uneven = uneven;
        EXPECT_TRUE(check(model_of_six(), plan, 12).empty());
        const Program program = lower(model_of_six(), plan);
        EXPECT_TRUE(verify(program).empty());
        return ops_named(program, "backward", "gradients exchange").size();
    };
    // Of four matrices of each layer only [128, 384] is even, and none of the three tables is.
    EXPECT_EQ(exchanges(false), 6u);
    EXPECT_EQ(exchanges(true), 6u * 4u + 3u);
}

}  // namespace
}  // namespace orrery
