// SPDX-License-Identifier: Apache-2.0
#include "runtime/fused_products.h"

#include <gtest/gtest.h>

#include "models/lowering.h"
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
TEST(FusedProducts, AreEveryFirstProductOfAnMlpAndItsGelu) {
    const Program program = lower(tiny_gpt(), tiny_plan());
    const Planned planned{program};
    std::int64_t forward = 0;
    for (const FusedProduct& f : planned.fused) {
        if (f.epilogue == GemmEpilogue::gelu) {
            EXPECT_EQ(planned.name(program, f.product), "fc1");
            EXPECT_EQ(planned.name(program, f.activation), "activation");
            ++forward;
        } else {
            EXPECT_EQ(planned.name(program, f.product), "fc2 dgrad");
            EXPECT_EQ(planned.name(program, f.activation), "activation backward");
        }
    }
    EXPECT_EQ(forward, 4);
}

TEST(FusedProducts, AreNotThereForOtherActivations) {
    EXPECT_TRUE(Planned{lower(tiny_llama(), tiny_plan())}.fused.empty());
    Transformer model = tiny_gpt();
    model.activation = Activation::squared_relu;
    EXPECT_TRUE(Planned{lower(model, tiny_plan())}.fused.empty());
}

// Whatever the plan: nothing between the two touches what the activation touches.
TEST(FusedProducts, MoveOverNothingThatTheyTouch) {
    std::int64_t pairs = 0;
    for (std::uint64_t seed = 0; seed < 80; ++seed) {
        const DrawnPlan d = drawn_plan(seed);
        const Program program = lower(d.model, d.plan);
        const Planned planned{program};
        for (const FusedProduct& f : planned.fused) {
            ++pairs;
            const Launch& moved = planned.launches.launches[f.activation];
            for (std::uint32_t i = f.product + 1; i < f.activation; ++i) {
                const Launch& between = planned.launches.launches[i];
                EXPECT_TRUE(between.stream != moved.stream || between.waits.empty());
                for (const ArenaUse& a : arena_uses(planned.rank, between.slot, planned.op(i))) {
                    for (const ArenaUse& b :
                         arena_uses(planned.rank, moved.slot, planned.op(f.activation))) {
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
