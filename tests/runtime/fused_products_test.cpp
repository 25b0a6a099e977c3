// SPDX-License-Identifier: Apache-2.0
#include "runtime/fused_products.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "models/lowering/lowering.h"
#include "tests/models/drawn_plans.h"
#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

struct Planned {
    explicit Planned(const Program& program)
        : rank(program, RankId{0}),
          launches(plan_launches(rank, Walk::step)),
          fused(fused_products(rank, launches)) {}
    const Op& op(std::uint32_t launch) const {
        return rank.op(launches.launches[launch].slot, launches.launches[launch].op);
    }
    std::string name(const Program& program, std::uint32_t launch) const {
        return program.names[op(launch).name];
    }
    RankProgram rank;
    LaunchPlan launches;
    std::vector<FusedProduct> fused;
};

// Two layers, two micro-batches.
TEST(FusedProducts, AreEveryFirstProductOfAnMlpAndItsGeluAndTheGradientsOfBiases) {
    const Program program = lower(tiny_gpt(), tiny_plan());
    const Planned planned{program};
    std::map<GemmEpilogue, int> found;
    for (const FusedProduct& f : planned.fused) {
        ++found[f.epilogue];
        const std::string product = planned.name(program, f.product);
        const std::string partner = planned.name(program, f.partner);
        if (f.epilogue == GemmEpilogue::gelu) {
            EXPECT_EQ(product + ", " + partner, "fc1, activation");
        } else if (f.epilogue == GemmEpilogue::dgelu) {
            EXPECT_EQ(product + ", " + partner, "fc2 dgrad, activation backward");
        } else {
            const std::string name = product.substr(0, product.find(' '));
            EXPECT_EQ(product + ", " + partner, name + " wgrad, " + name + " bias gradient");
        }
    }
    EXPECT_EQ(found[GemmEpilogue::gelu], 4);
    EXPECT_EQ(found[GemmEpilogue::dgelu], 4);
    EXPECT_EQ(found[GemmEpilogue::bias_gradient], 4 * 4);
}

TEST(FusedProducts, AreNotThereForOtherActivations) {
    EXPECT_TRUE(Planned{lower(tiny_llama(), tiny_plan())}.fused.empty());
    Transformer model = tiny_gpt();
    model.activation = Activation::squared_relu;
    for (const FusedProduct& f : Planned{lower(model, tiny_plan())}.fused) {
        EXPECT_EQ(f.epilogue, GemmEpilogue::bias_gradient);
    }
}

// A weight's gradient in bf16 would round the bias's; with sequence parallelism the weight's
// gradient is of all tokens, that of the bias of the rank's own.
TEST(FusedProducts, BiasGradientsAreThoseOfTheSameNumbers) {
    const auto biases = [](const ParallelPlan& plan) {
        const Planned planned{lower(tiny_gpt(), plan)};
        return std::ranges::count(
            planned.fused, GemmEpilogue::bias_gradient, &FusedProduct::epilogue);
    };
    ParallelPlan plan = tiny_plan();
    plan.precision = Dtype::bf16;
    EXPECT_EQ(biases(plan), 4 * 4);
    plan.gradient_accumulation_fusion = false;
    EXPECT_EQ(biases(plan), 0);
    plan = tiny_plan();
    plan.tensor_model_parallel_size = 2;
    plan.sequence_parallel = true;
    EXPECT_EQ(biases(plan), 4 * 2);  // of qkv and fc1
}

// Whatever the plan: nothing between the two touches what the partner touches.
TEST(FusedProducts, MoveOverNothingThatTheyTouch) {
    std::int64_t pairs = 0;
    for (std::uint64_t seed = 0; seed < 80; ++seed) {
        const DrawnPlan d = drawn_plan(seed);
        const Program program = lower(d.model, d.plan);
        const Planned planned{program};
        for (const FusedProduct& f : planned.fused) {
            ++pairs;
            const Launch& moved = planned.launches.launches[f.partner];
            for (std::uint32_t i = f.product + 1; i < f.partner; ++i) {
                const Launch& between = planned.launches.launches[i];
                EXPECT_TRUE(between.stream != moved.stream || between.waits.empty());
                for (const ArenaUse& a : arena_uses(planned.rank, between.slot, planned.op(i))) {
                    for (const ArenaUse& b :
                         arena_uses(planned.rank, moved.slot, planned.op(f.partner))) {
                        EXPECT_TRUE(a.end <= b.begin || b.end <= a.begin ||
                                    (!a.writes && !b.writes))
                            << d.text();
                    }
                }
            }
        }
    }
    EXPECT_GT(pairs, 20);
}

}  // namespace
}  // namespace orrery
