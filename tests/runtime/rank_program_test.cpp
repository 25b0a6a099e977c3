// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank_program.h"

#include <gtest/gtest.h>

#include "models/lowering/lowering.h"
#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

TEST(RankProgram, OperandsLieInTheArenaOneAfterTheOther) {
    const Program program = lower(tiny_gpt(), tiny_plan());
    RankProgram rank{program, RankId{0}};
    std::vector<std::byte> arena(static_cast<std::size_t>(rank.plan().bytes()));
    rank.set_arena(arena.data());
    int operands = 0;
    for (std::uint32_t s = 0; s < rank.role().slots.size(); ++s) {
        for (const Op& op : program.segment_of(rank.role().slots[s]).ops) {
            const BoundOp bound = rank.bind_kernel(s, op);
            for (const auto* list : {&bound.reads, &bound.writes, &bound.accumulates}) {
                for (const BoundOperand& o : *list) {
                    EXPECT_GE(o.view.data, arena.data());
                    EXPECT_LE(o.view.data + o.view.size * size_bytes(o.view.dtype),
                              arena.data() + arena.size());
                    ++operands;
                }
            }
        }
    }
    EXPECT_GT(operands, 100);
}

// Two data-parallel ranks that share the optimizer's work have halves of every gradient there, and
// all of it everywhere else.
TEST(RankProgram, OptimizersOfTwoRanksGetHalvesOfAGradient) {
    ParallelPlan plan = tiny_plan();
    plan.data_parallel_size = 2;
    plan.data_parallel_sharding_strategy = ShardingStrategy::optim;
    const Program program = lower(tiny_gpt(), plan);
    const auto updated = [&](RankId id) {
        std::int64_t elements = 0;
        const RankProgram rank{program, id};
        for (std::uint32_t s = 0; s < rank.role().slots.size(); ++s) {
            for (const Op& op : program.segment_of(rank.role().slots[s]).ops) {
                if (op.kind() == OpKind::kernel && program.kernel(op).kind == KernelKind::adamw) {
                    for (const BoundOperand& o : rank.bind_kernel(s, op).writes) {
                        elements += o.view.size;
                    }
                }
            }
        }
        return elements;
    };
    EXPECT_EQ(updated(RankId{0}) + updated(RankId{1}), num_parameters(tiny_gpt()));
    EXPECT_EQ(updated(RankId{0}), updated(RankId{1}));
}

TEST(RankProgram, NamesTheOpThatCannotRun) {
    const Program program = lower(tiny_gpt(), tiny_plan());
    const RankProgram rank{program, RankId{0}};
    EXPECT_TRUE(rank.check_ops([](const Op&) { return ""; }));
    const auto refused = rank.check_ops([&](const Op& op) {
        return program.kernel(op).kind == KernelKind::adamw ? "no optimizer" : "";
    });
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().what, "no optimizer");
    EXPECT_NE(refused.error().where.find("optimizer, "), std::string::npos)
        << refused.error().where;
}

TEST(RankProgram, AsksWhetherCopiesBetweenMemoryTiersAreCarriedOut) {
    Program program = lower(tiny_gpt(), tiny_plan());
    program.copies = {{.bytes = Bytes{16}}};
    program.segments[0].ops.push_back({.payload = CopyId{0}, .stream = StreamId{0}});
    const RankProgram own{program, RankId{0}};
    const auto refused = own.check_ops(
        [](const Op& op) { return op.kind() == OpKind::copy ? "no host memory" : ""; });
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().what, "no host memory");
    EXPECT_TRUE(own.check_ops([](const Op&) { return ""; }));
}

}  // namespace
}  // namespace orrery
