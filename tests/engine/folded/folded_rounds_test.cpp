// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "engine/folded/folded_simulation.h"
#include "tests/engine/small_folded_step.h"

namespace orrery {
namespace {

using testing::pass_of;
using testing::us;

// One forward, one backward over `stages`, as models/schedule/ orders them. Timing 2s is stage s's
// forward pass, 2s + 1 its backward pass, the last one the norm.
FoldedStep one_forward_one_backward(const std::vector<PassTiming>& timings,
                                    std::uint32_t stages,
                                    std::uint32_t micro_batches,
                                    const FixedTransfer& sent) {
    FoldedStep step{.timings = {}, .stages = {}, .meeting_sizes = {stages}};
    for (const PassTiming& timing : timings) {
        step.timings.push_back(&timing);
    }
    for (std::uint32_t s = 0; s < stages; ++s) {
        FoldedStage& stage = step.stages.emplace_back();
        std::uint32_t num[2] = {0, 0};
        const auto add = [&](std::uint32_t backward) {
            const bool receives = backward == 0 ? s > 0 : s + 1 < stages;
            const bool sends = backward == 0 ? s + 1 < stages : s > 0;
            const auto pass = static_cast<std::int32_t>(stage.passes.size());
            StagePass next{.timing = 2 * s + backward,
                           .launches_before = static_cast<std::uint32_t>(pass),
                           .first_wait = static_cast<std::uint32_t>(stage.waits.size()),
                           .num_waits = receives ? 1U : 0U};
            ++num[backward];
            if (receives) {
                const std::uint32_t line = 2 * backward;
                stage.lines[line].push_back({.after_pass = pass - 2,
                                             .launch = static_cast<std::uint32_t>(pass),
                                             .transfer = sent});
                if (pass < 2) {
                    stage.lines[line].back().after_pass = -1;
                }
                stage.waits.push_back({static_cast<std::uint8_t>(line), num[backward]});
            }
            stage.passes.push_back(next);
            if (sends) {
                stage.lines[2 * backward + 1].push_back(
                    {.after_pass = pass,
                     .launch = static_cast<std::uint32_t>(pass) + 1,
                     .transfer = sent});
            }
        };
        const std::uint32_t warm_up = std::min(stages - 1 - s, micro_batches);
        for (std::uint32_t i = 0; i < warm_up; ++i) {
            add(0);
        }
        for (std::uint32_t i = warm_up; i < micro_batches; ++i) {
            add(0);
            add(1);
        }
        for (std::uint32_t i = 0; i < warm_up; ++i) {
            add(1);
        }
        const auto norm = static_cast<std::uint32_t>(stage.passes.size());
        stage.passes.push_back({.timing = 2 * stages, .launches_before = norm});
        stage.data = {{.after = {{norm, 0}}, .meeting = 0}};
    }
    return step;
}

// The step with rounds left out, at least `least` of them, is the step.
void expect_the_same(const FoldedStep& step, std::uint32_t least) {
    FoldedSimulation all{step, true};
    const std::optional<Time> expected = all.run();
    ASSERT_TRUE(expected.has_value());
    EXPECT_EQ(all.rounds_left_out(), 0u);
    FoldedSimulation some{step};
    EXPECT_EQ(some.run(), expected);
    EXPECT_GE(some.rounds_left_out(), least);
}

TEST(FoldedRounds, AlikeAreLeftOut) {
    std::mt19937_64 random(11);
    const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
    for (int i = 0; i < 60; ++i) {
        const auto stages = static_cast<std::uint32_t>(1 + below(6));
        std::vector<PassTiming> timings;
        for (std::uint32_t t = 0; t < 2 * stages; ++t) {
            timings.push_back(pass_of(Time::picoseconds(5'000'000 + below(3'000'000))));
        }
        timings.push_back(pass_of(us(1)));
        const Time alone = Time::picoseconds(1'000 + below(2'000'000));
        SCOPED_TRACE("case " + std::to_string(i));
        FoldedStep step = one_forward_one_backward(timings, stages, 200, {.alone = alone});
        expect_the_same(step, 20);
        // The host is faster, and much later than all it has launched in the end.
        step.launch_cost = Time::picoseconds(100'000);
        expect_the_same(step, 20);
        // Or it is what everything waits for.
        step.launch_cost = us(40);
        expect_the_same(step, 0);
        // Where messages slow passes down, rounds become alike late or never.
        const auto sms = static_cast<std::uint32_t>(1 + below(30));
        expect_the_same(
            one_forward_one_backward(timings, stages, 200, {.alone = alone, .sms = sms}), 0);
    }
}

TEST(FoldedRounds, ThatDifferAreNot) {
    const PassTiming work = pass_of(us(10));
    const PassTiming other = pass_of(us(11));
    const PassTiming norm = pass_of(us(1));
    std::vector<PassTiming> timings{work, work, norm};
    FoldedStep step = one_forward_one_backward(timings, 1, 50, {});
    expect_the_same(step, 40);
    // One pass late in the step takes longer.
    step.timings.push_back(&other);
    step.stages[0].passes[80].timing = 3;
    EXPECT_EQ(period_of(step), us(99 * 10 + 11 + 1));
    expect_the_same(step, 30);
    // A data op in the middle holds SMs for a while.
    step.stages[0].data.insert(step.stages[0].data.begin(),
                               DataOp{.after = {{40, 0}}, .transfer = {us(4), 50}});
    EXPECT_EQ(period_of(step), us(99 * 10 + 11 + 1 + 2));
    expect_the_same(step, 20);
}

}  // namespace
}  // namespace orrery
