// SPDX-License-Identifier: Apache-2.0
#include "engine/folded/pass_timing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace orrery {
namespace pass_timing_test {

constexpr Time us(std::int64_t n) {
    return Time::picoseconds(n * 1'000'000);
}

PassOp kernel(Time duration, std::uint32_t first_wait = 0, std::uint32_t num_waits = 0) {
    return {.duration = duration, .first_wait = first_wait, .num_waits = num_waits};
}

PassOp exchange(Time duration, std::uint32_t first_wait = 0, std::uint32_t num_waits = 0) {
    return {.stream = 1,
            .is_kernel = false,
            .sms = 25,
            .duration = duration,
            .first_wait = first_wait,
            .num_waits = num_waits};
}

// Kernel, an exchange beside a kernel, and a kernel that waits for both.
PassTiming overlapped() {
    return {
        {kernel(us(4)), exchange(us(3), 0, 1), kernel(us(6)), kernel(us(1), 1, 1)}, {0, 1}, 100};
}

TEST(PassTiming, AChainCanBeCutAnywhere) {
    const PassTiming chain{{kernel(us(1)), kernel(us(2)), kernel(us(3))}, {}, 100};
    EXPECT_EQ(chain.cuts(), (std::vector<std::uint32_t>{0, 1, 2, 3}));
    EXPECT_TRUE(chain.is_closed());
    EXPECT_EQ(chain.steady(0).cut.back(), us(6));
}

TEST(PassTiming, NothingIsCutWhileSomethingElseIsUnderWay) {
    EXPECT_EQ(overlapped().cuts(), (std::vector<std::uint32_t>{0, 1, 3, 4}));
}

TEST(PassTiming, AnExchangeThatGoesOnLeavesThePassOpen) {
    const PassTiming open{{kernel(us(1)), exchange(us(9), 0, 1)}, {0}, 100};
    EXPECT_FALSE(open.is_closed());
}

TEST(PassTiming, AKernelLosesTheSmsThatAreHeld) {
    // A quarter of the SMs is gone for 3 us, in which the second kernel does 2.25 us of its 6.
    EXPECT_EQ(overlapped().steady(0).cut.back(), us(4 + 3) + Time::picoseconds(3'750'000) + us(1));
    // Half of them from outside: at half the rate 8 us, at a quarter 3 us, at half again.
    const PassTiming alone{{kernel(us(8))}, {}, 100};
    EXPECT_EQ(alone.steady(50).cut.back(), us(16));
}

TEST(PassTiming, WhatIsNotKnownYetNeverEnds) {
    const std::vector<Time> earliest{Time{}, Time{}, Time::max(), Time{}};
    const HeldSms nothing{};
    const PassGates gates{.op_earliest = earliest};
    std::vector<Time> ends;
    EXPECT_EQ(overlapped().run(0, 4, Time{}, {&nothing, 1}, gates, ends), Time::max());
    EXPECT_EQ(ends[1], us(7));
    EXPECT_EQ(ends[2], Time::max());
}

RC_GTEST_PROP(PassTiming, WorkedOffFromCutToCutItTakesThatLong, ()) {
    std::vector<PassOp> ops;
    std::vector<std::uint32_t> waits;
    for (std::uint32_t o = 0; o < 12; ++o) {
        const bool is_kernel = *rc::gen::inRange(0, 3) > 0;
        PassOp op = is_kernel ? kernel(Time::picoseconds(*rc::gen::inRange(1, 5000)))
                              : exchange(Time::picoseconds(*rc::gen::inRange(1, 5000)));
        op.first_wait = static_cast<std::uint32_t>(waits.size());
        if (o > 0 && *rc::gen::inRange(0, 3) > 0) {
            waits.push_back(o - 1);
            op.num_waits = 1;
        }
        ops.push_back(op);
    }
    const PassTiming timing{ops, waits, 100};
    std::vector<HeldSms> held{{Time{}, 0}};
    for (int i = 0; i < 4; ++i) {
        held.push_back({held.back().since + Time::picoseconds(*rc::gen::inRange(1, 9000)),
                        static_cast<std::uint32_t>(*rc::gen::inRange(0, 70))});
    }
    std::vector<Time> ends;
    const Time whole = timing.run(0, timing.size(), Time{}, held, {}, ends);
    Time now;
    std::vector<Time> part;
    for (std::size_t c = 0; c + 1 < timing.cuts().size(); ++c) {
        const std::uint32_t first = timing.cuts()[c];
        now = timing.run(first, timing.cuts()[c + 1], now, held, {}, part);
        RC_ASSERT(std::equal(part.begin(), part.end(), ends.begin() + first));
    }
    RC_ASSERT(now == whole);
    // Later, and known by then.
    const Time shift = Time::picoseconds(77);
    for (HeldSms& change : held) {
        change.since += shift;
    }
    RC_ASSERT(timing.run(0, timing.size(), shift, held, {}, part) == whole + shift);
}

}  // namespace pass_timing_test
}  // namespace orrery
