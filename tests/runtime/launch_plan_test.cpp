// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "models/lowering/lowering.h"
#include "models/segments/segment_builder.h"
#include "tests/models/drawn_plans.h"
#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

// What a device with streams guarantees about a plan, found by walking back: launches that have
// ended when this one begins. A slow implementation without clocks.
class Before {
public:
    explicit Before(const LaunchPlan& plan) : sets_(plan.launches.size()) {
        std::map<StreamId, std::uint32_t> last;
        for (std::uint32_t i = 0; i < plan.launches.size(); ++i) {
            sets_[i].assign(plan.launches.size(), false);
            const Launch& launch = plan.launches[i];
            if (const auto known = last.find(launch.stream); known != last.end()) {
                add(i, known->second);
            }
            for (const std::uint32_t wait : launch.waits) {
                add(i, wait);
            }
            last[launch.stream] = i;
        }
    }
    bool operator()(std::uint32_t earlier, std::uint32_t later) const {
        return sets_[later][earlier];
    }

private:
    void add(std::uint32_t launch, std::uint32_t other) {
        sets_[launch][other] = true;
        for (std::size_t i = 0; i < sets_[other].size(); ++i) {
            sets_[launch][i] = sets_[launch][i] || sets_[other][i];
        }
    }
    std::vector<std::vector<bool>> sets_;
};

bool conflict(const std::vector<ArenaUse>& a, const std::vector<ArenaUse>& b) {
    return std::ranges::any_of(a, [&](const ArenaUse& x) {
        return std::ranges::any_of(b, [&](const ArenaUse& y) {
            return (x.writes || y.writes) && x.begin < y.end && y.begin < x.end;
        });
    });
}

void expect_ordered(const DrawnPlan& d, const RankProgram& rank, const LaunchPlan& plan) {
    std::vector<std::vector<ArenaUse>> uses;
    for (const Launch& l : plan.launches) {
        uses.push_back(arena_uses(rank, l.slot, rank.op(l.slot, l.op)));
    }
    const Before before{plan};
    for (std::uint32_t b = 0; b < plan.launches.size(); ++b) {
        for (std::uint32_t a = 0; a < b; ++a) {
            if (plan.launches[a].stream != plan.launches[b].stream && conflict(uses[a], uses[b])) {
                ASSERT_TRUE(before(a, b)) << d.text() << ": " << a << " and " << b;
            }
        }
    }
}

DrawnPlan small_plan(std::uint64_t seed) {
    DrawnPlan d = drawn_plan(seed);
    d.plan.global_batch_size =
        std::min(d.plan.global_batch_size, 4 * d.plan.micro_batch_size * d.plan.data_parallel_size);
    return d;
}

TEST(LaunchPlan, OrdersWhoeverUsesTheSameBytes) {
    std::int64_t across_streams = 0;
    for (std::uint64_t seed = 0; seed < 25; ++seed) {
        const DrawnPlan d = small_plan(seed);
        const Program program = lower(d.model, d.plan);
        for (std::size_t r = 0; r < program.roles.size(); ++r) {
            const RankProgram rank{program,
                                   to_id<RankId>(r * program.mesh().stride(program.role_digit()))};
            const LaunchPlan plan = plan_launches(rank, Walk::step);
            if (plan.launches.size() > 1500) {
                continue;  // the slow implementation is cubic
            }
            expect_ordered(d, rank, plan);
            for (const Launch& l : plan.launches) {
                across_streams += static_cast<std::int64_t>(l.waits.size());
            }
        }
    }
    EXPECT_GT(across_streams, 500);
}

TEST(LaunchPlan, HoldsTheWaitsOfTheProgram) {
    for (std::uint64_t seed = 25; seed < 35; ++seed) {
        const DrawnPlan d = small_plan(seed);
        const Program program = lower(d.model, d.plan);
        const RankProgram rank{program, RankId{0}};
        const LaunchPlan plan = plan_launches(rank, Walk::step);
        if (plan.launches.size() > 1500) {
            continue;
        }
        std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> position;
        for (std::uint32_t i = 0; i < plan.launches.size(); ++i) {
            position[{plan.launches[i].slot, plan.launches[i].op}] = i;
        }
        const Before before{plan};
        for (std::uint32_t i = 0; i < plan.launches.size(); ++i) {
            const Launch& l = plan.launches[i];
            const Op& op = rank.op(l.slot, l.op);
            for (std::uint32_t w = 0; w < op.num_waits; ++w) {
                const std::uint32_t other = program.waits[op.first_wait + w];
                EXPECT_TRUE(before(position.at({l.slot, other}), i)) << d.text();
            }
            for (const SlotWait& w : rank.role().slots[l.slot].waits) {
                if (w.op == l.op) {
                    EXPECT_TRUE(before(position.at({w.slot, w.slot_op}), i)) << d.text();
                }
            }
        }
    }
}

// Without any one of its waits, a launch knows less.
TEST(LaunchPlan, WaitsForNothingThatFollowsFromAnotherWait) {
    const DrawnPlan d = small_plan(3);
    const Program program = lower(d.model, d.plan);
    const RankProgram rank{program, RankId{0}};
    const LaunchPlan plan = plan_launches(rank, Walk::step);
    const Before before{plan};
    for (std::uint32_t i = 0; i < plan.launches.size(); ++i) {
        const Launch& l = plan.launches[i];
        for (const std::uint32_t wait : l.waits) {
            EXPECT_TRUE(plan.launches[wait].awaited);
            EXPECT_NE(plan.launches[wait].stream, l.stream);
            for (const std::uint32_t other : l.waits) {
                EXPECT_TRUE(other == wait || !before(wait, other)) << i;
            }
        }
    }
}

// Reduce-scatters of Transformer Engine's kind hold 16 SMs, which products beside them leave free.
TEST(LaunchPlan, ProductsLeaveTheSmsOfExchangesBesideThem) {
    ParallelPlan plan = tiny_plan();
    plan.tensor_model_parallel_size = 2;
    plan.sequence_parallel = true;
    for (const bool overlap : {true, false}) {
        plan.tp_comm_overlap = overlap;
        const Program program = lower(tiny_gpt(), plan);
        const RankProgram rank{program, RankId{0}};
        std::set<std::uint16_t> reserved;
        for (const Launch& l : plan_launches(rank, Walk::step).launches) {
            const Op& op = rank.op(l.slot, l.op);
            if (op.kind() == OpKind::kernel && program.kernel(op).kind == KernelKind::gemm) {
                reserved.insert(l.reserved_sms);
            }
        }
        EXPECT_EQ(reserved.contains(16), overlap);
    }
}

TEST(LaunchPlan, OneStreamNeverWaits) {
    const Program program = lower(tiny_gpt(), tiny_plan());
    const RankProgram rank{program, RankId{0}};
    const LaunchPlan plan = plan_launches(rank, Walk::step);
    EXPECT_EQ(plan.streams, std::vector{kComputeStream});
    EXPECT_EQ(plan.lasts, std::vector{static_cast<std::uint32_t>(plan.launches.size() - 1)});
    for (const Launch& l : plan.launches) {
        EXPECT_TRUE(l.waits.empty());
        EXPECT_FALSE(l.awaited);
    }
}

TEST(LaunchPlan, EvaluationHasNeitherBackwardPassesNorTheOptimizer) {
    const Program program = lower(tiny_gpt(), tiny_plan());
    const RankProgram rank{program, RankId{0}};
    const LaunchPlan step = plan_launches(rank, Walk::step);
    const LaunchPlan forward = plan_launches(rank, Walk::forward);
    EXPECT_GT(forward.launches.size(), 10u);
    EXPECT_LT(2 * forward.launches.size(), step.launches.size());
    for (const Launch& l : forward.launches) {
        EXPECT_EQ(rank.role().slots[l.slot].pass, Pass::forward);
    }
    EXPECT_TRUE(plan_launches(rank, Walk::gather_parameters).launches.empty());
}

// What the ring of places gives: a tensor of a slot is somewhere else's place too, so a stream that
// still reads it holds up who writes there next, though no datum passes between them.
TEST(LaunchPlan, WaitsForReadersOfAPlaceThatIsUsedAnew) {
    Program program;
    program.parties.front().mesh = Mesh{{{"pp", 1}}};
    program.names = {"op"};
    program.kernels.resize(1);
    for (const char* name : {"a", "b"}) {
        program.tensors.push_back({.name = name, .bytes = Bytes{256}});
    }
    const auto op = [&](StreamId stream, std::vector<Operand> operands) {
        Op result{.stream = stream};
        result.first_operand = static_cast<std::uint32_t>(program.operands.size());
        result.num_operands = static_cast<std::uint32_t>(operands.size());
        program.operands.insert(program.operands.end(), operands.begin(), operands.end());
        return result;
    };
    const TensorId a{0};
    const TensorId b{1};
    program.segments.push_back(
        {"first",
         {op(kComputeStream, {{a, Access::write}}), op(kDataStream, {{a, Access::read}})}});
    program.waits = {0};
    program.segments[0].ops[1].num_waits = 1;
    program.segments.push_back({"second", {op(kComputeStream, {{b, Access::write}})}});
    program.roles.push_back(
        {"pp 0", {Slot{.segment = SegmentId{0}}, Slot{.segment = SegmentId{1}}}});
    const RankProgram rank{program, RankId{0}};
    ASSERT_EQ(rank.plan().offset(0, a), rank.plan().offset(1, b));
    const LaunchPlan plan = plan_launches(rank, Walk::step);
    EXPECT_EQ(plan.launches[1].waits, std::vector{0u});
    EXPECT_EQ(plan.launches[2].waits, std::vector{1u});
}

}  // namespace
}  // namespace orrery
