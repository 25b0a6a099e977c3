// SPDX-License-Identifier: Apache-2.0
// The rows of a layer's experts in parts (plan.moe_pipeline_degree), merged by hashes
// (plan.moe_lsh_compression_rate), and in tiles (plan.moe_tile_overlap).
#include "models/blocks/expert_products.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/models/lowered_experts.h"

namespace orrery {
namespace expert_products_test {

ParallelPlan parts_plan(std::int64_t parts) {
    ParallelPlan plan = four_ranks();
    plan.moe_pipeline_degree = parts;
    return plan;
}

// When the last op of a forward pass with one layer ends, if an exchange of rows takes `exchange`
// and the products of a part `products`, and all else nothing: microseconds.
double end_of(const Program& program, double exchange, double products) {
    const auto forward = std::ranges::find_if(
        program.segments, [](const Segment& s) { return s.name.ends_with("forward"); });
    std::vector<double> ends;
    std::map<StreamId, double> stream;
    for (const Op& op : forward->ops) {
        double start = stream[op.stream];
        for (std::uint32_t w = 0; w < op.num_waits; ++w) {
            start = std::max(start, ends[program.waits[op.first_wait + w]]);
        }
        const std::string& name = program.names[op.name];
        const bool moves = name == "dispatch" || name == "combine";
        const double takes = moves && op.kind() == OpKind::collective ? exchange
                             : name == "expert fc1"                   ? products
                                                                      : 0;
        ends.push_back(start + takes);
        stream[op.stream] = ends.back();
    }
    return *std::ranges::max_element(ends);
}

// Dispatches first, then combines, on one link: T(r) = max(2 r D, 2 D + r C) with
// D = a_d + n b_d / r and C = a_c + n b_c / r (microseconds).
TEST(ExpertParts, TakeWhatTheClosedFormSays) {
    Transformer model = small_experts();
    model.num_layers = 1;
    const std::map<std::int64_t, double> published{
        {1, 4510}, {2, 3520}, {4, 3040}, {8, 2830}, {16, 3600}};
    for (const auto& [parts, expected] : published) {
        const auto r = static_cast<double>(parts);
        const double exchange = 50 + 1000 / r;
        const double products = 10 + 2400 / r;
        EXPECT_DOUBLE_EQ(std::max(2 * r * exchange, 2 * exchange + r * products), expected);
        EXPECT_NEAR(end_of(verified(model, parts_plan(parts)), exchange, products), expected, 1e-6);
    }
}

double flop_of_products(const Program& program) {
    return executed_flop(program, KernelKind::gemm);
}

TEST(ExpertParts, DoTheSameWorkInMorePieces) {
    const Program whole = verified(small_experts(), parts_plan(1));
    const Program parts = verified(small_experts(), parts_plan(4));
    EXPECT_NEAR(flop_of_products(parts) / flop_of_products(whole), 1, 1e-9);
    const auto bytes = [](const Program& program) {
        std::int64_t sum = 0;
        for_each_op(program, program.roles[0], [&](const Slot&, const Op& op) {
            if (op.kind() == OpKind::collective) {
                const CollectiveCall& call = program.collective(op);
                sum += call.rows.dispatcher != 0 ? call.rows.tokens * call.rows.row.count() : 0;
            }
        });
        return sum;
    };
    EXPECT_EQ(bytes(parts), bytes(whole));
    EXPECT_EQ(count_ops(parts, "expert fc1"), 4 * count_ops(whole, "expert fc1"));
}

TEST(ExpertParts, RefuseLoadsThatDiffer) {
    ParallelPlan plan = parts_plan(2);
    plan.moe_router_load = RouterLoad::uniform;
    const Errors errors = check(small_experts(), plan, 4);
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors[0].where, "plan.moe_pipeline_degree");
}

ParallelPlan tiles_plan(bool tiles) {
    ParallelPlan plan = four_ranks();
    plan.moe_tile_overlap = tiles;
    return plan;
}

// The dispatch is beside the first product and the combine beside the second, which takes nothing
// here: max(D, C) + D instead of 2 D + C.
TEST(ExpertTiles, ExchangesAndProductsTakeAsLongAsTheLonger) {
    Transformer model = small_experts();
    model.num_layers = 1;
    for (const auto& [exchange, products] : {std::pair{50.0, 80.0}, std::pair{80.0, 50.0}}) {
        EXPECT_NEAR(end_of(verified(model, tiles_plan(false)), exchange, products),
                    2 * exchange + products,
                    1e-6);
        EXPECT_NEAR(end_of(verified(model, tiles_plan(true)), exchange, products),
                    std::max(exchange, products) + exchange,
                    1e-6);
    }
}

// The same exchanges; of the products only the last tiles are added.
TEST(ExpertTiles, MoveTheSameRows) {
    const Program apart = verified(small_experts(), tiles_plan(false));
    const Program tiles = verified(small_experts(), tiles_plan(true));
    EXPECT_EQ(count_ops(tiles, "dispatch"), count_ops(apart, "dispatch"));
    EXPECT_EQ(count_ops(tiles, "combine backward"), count_ops(apart, "combine backward"));
    EXPECT_EQ(count_ops(tiles, "expert fc1 last tile"), count_ops(apart, "expert fc1"));
    EXPECT_EQ(count_ops(tiles, "expert fc2 dgrad last tile"), count_ops(apart, "expert fc2 dgrad"));
    EXPECT_EQ(count_ops(tiles, "expert fc2 last tile"), 0);
    EXPECT_GT(flop_of_products(tiles), flop_of_products(apart));
}

TEST(ExpertTiles, RefuseWhatKernelsOfTheirOwnDoNotDo) {
    ParallelPlan plan = tiles_plan(true);
    plan.moe_mask_products = true;
    const Errors errors = check(small_experts(), plan, 4);
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors[0].where, "plan.moe_tile_overlap");
}

// LSH-MoE: a fifth of the rows travels and is worked on.
TEST(HashedRows, AreSoManyFewerOnTheWayAndInTheProducts) {
    ParallelPlan plan = four_ranks();
    const Program all = verified(small_experts(), plan);
    plan.moe_lsh_compression_rate = 0.25;
    const Program merged = verified(small_experts(), plan);
    const auto largest = [](const Program& program) {
        std::int64_t tokens = 0;
        for (const CollectiveCall& call : row_exchanges(program)) {
            tokens = std::max(tokens, call.rows.tokens);
        }
        return tokens;
    };
    EXPECT_EQ(4 * largest(merged), largest(all));
    EXPECT_LT(flop_of_products(merged), flop_of_products(all));
    EXPECT_EQ(count_ops(all, "hashes of tokens"), 0);
    EXPECT_GT(count_ops(merged, "hashes of tokens"), 0);
    EXPECT_EQ(count_ops(merged, "hashes of tokens"), count_ops(merged, "residuals of tokens"));
}

// Megatron-Core's GroupedMLP: other products add to their gradients themselves.
TEST(ExpertGradients, OfProductsThatDoNotAddAreAddedByAKernel) {
    ParallelPlan plan = four_ranks();
    EXPECT_EQ(count_ops(verified(small_experts(), plan), "expert fc1 wgrad accumulate"), 0);
    plan.moe_gradient_accumulation_fusion = false;
    const Program program = verified(small_experts(), plan);
    for (const char* product : {"expert fc1 wgrad", "expert fc2 wgrad"}) {
        EXPECT_GT(count_ops(program, product), 0);
        EXPECT_EQ(count_ops(program, std::string{product} + " accumulate"),
                  count_ops(program, product));
    }
    EXPECT_EQ(count_ops(program, "qkv wgrad accumulate"), 0);
}

}  // namespace expert_products_test
}  // namespace orrery
