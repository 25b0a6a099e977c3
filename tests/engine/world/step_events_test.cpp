// SPDX-License-Identifier: Apache-2.0
// Events in the middle of a step, by hand: two ranks, kernels, and collectives of 100 bytes over a
// link of a byte a nanosecond. What random programs make of them: step_event_effects_test.cpp.
#include "engine/world/step_events.h"

#include <gtest/gtest.h>

#include "engine/world/simulated_executor.h"
#include "network/fluid/fluid.h"
#include "tests/engine/program_builder.h"
#include "tests/engine/scripted_network.h"

namespace orrery {
namespace step_events_test {

using namespace orrery::literals;

constexpr std::int64_t kBytePerNanosecond = 8'000'000'000;
constexpr Time kSecond = Time::picoseconds(1'000'000'000'000);

// Link 0 is the way; link 1, of half the capacity, the way around it if there is one.
class TwoWays final : public NetworkModel {
public:
    explicit TwoWays(bool around) : around_(around) { own_.collective = plan_over({0}, 100_B); }
    TransferPlan plan(const TransferCall& call, std::span<const RankId> members) const override {
        return own_.plan(call, members);
    }
    std::vector<OtherPath> paths_around(const TransferCall&,
                                        std::span<const RankId>,
                                        std::span<const std::uint8_t> down) const override {
        OtherPath path{.part = own_.collective.phases[0].parts[0], .around = {}};
        if (around_ && down[1] == 0) {
            path.around = {{to_id<LinkId>(1), 1}};
        }
        return {path};
    }
    std::span<const LinkInfo> links() const override { return own_.links(); }
    std::span<const std::string> link_class_names() const override {
        return own_.link_class_names();
    }
    bool has_contention() const override { return true; }

private:
    bool around_;
    ScriptedNetwork own_{{kBytePerNanosecond, kBytePerNanosecond / 2}};
};

constexpr std::uint16_t kHealthy = 0;
constexpr std::uint16_t kStruck = 1;  // of rank 0, as fast
constexpr std::uint16_t kSlow = 2;    // half as fast

// Ranks compute for 100 ns, then sum up 100 bytes, twice.
SimulationOutcome run(const StepEvents& events, bool around = false, bool fold = true) {
    ProgramBuilder b({{"dp", 2}, {"pp", 1}});
    const GroupId both = b.group("dp", 1);
    for (int i = 0; i < 2; ++i) {
        b.kernel(100_ns);
        b.collective(both, 100_B, kCompute);
    }
    const TwoWays network{around};
    SimulationInput input = b.input(network);
    input.steps = 1;
    input.accelerations.fold(fold);
    DeviceTimings slow = input.devices[0];
    for (KernelTime& kernel : slow.kernels) {
        kernel.duration = kernel.duration * 2;
    }
    const DeviceTimings healthy = input.devices[0];
    input.devices = {healthy, healthy, slow};
    input.device_class = {kStruck, kHealthy};
    input.events = events;
    FluidRates rates(network.links());
    return simulate(input, rates);
}

Time end(const StepEvents& events, bool around = false) {
    const SimulationOutcome folded = run(events, around);
    const SimulationOutcome unfolded = run(events, around, false);
    EXPECT_TRUE(folded && unfolded && !folded->hang && !unfolded->hang);
    EXPECT_EQ(folded->step_end, unfolded->step_end);
    EXPECT_EQ(folded->critical_path.total(), folded->iteration);
    return folded->step_end[0];
}

TEST(StepEvents, NothingTakesAsLongAsEver) {
    EXPECT_EQ(end({}), 400_ns);
    EXPECT_EQ(end({.devices = {{50_ns, kStruck, kStruck}}}), 400_ns);
    EXPECT_EQ(end({.capacities = {{150_ns, to_id<LinkId>(0), 8_Gbps}}}), 400_ns);
}

TEST(StepEvents, AKernelGoesOnAtTheNewPace) {
    // 60 ns are left, and take 120; the other kernel takes 200.
    EXPECT_EQ(end({.devices = {{40_ns, kStruck, kSlow}}}), 160_ns + 100_ns + 200_ns + 100_ns);
    // Healed half way through the second one: of 50 ns that are left.
    EXPECT_EQ(end({.devices = {{40_ns, kStruck, kSlow}, {360_ns, kStruck, kStruck}}}),
              160_ns + 100_ns + 150_ns + 100_ns);
    // Within a collective no rank computes.
    EXPECT_EQ(end({.devices = {{150_ns, kStruck, kSlow}}}), 100_ns + 100_ns + 200_ns + 100_ns);
}

TEST(StepEvents, ALinkThatLosesCapacitySlowsWhatMoves) {
    const LinkId link = to_id<LinkId>(0);
    EXPECT_EQ(end({.capacities = {{150_ns, link, 4_Gbps}}}), 100_ns + 150_ns + 100_ns + 200_ns);
    EXPECT_EQ(end({.capacities = {{150_ns, link, 4_Gbps}, {200_ns, link, 8_Gbps}}}),
              100_ns + 125_ns + 200_ns);
}

LinkOutages outages(std::vector<LinkOutage> list, Time timer) {
    return {.list = std::move(list), .convergence = 30_ns, .timer = timer, .retries = 7};
}

LinkOutage out(std::uint32_t link, Time at, Time until) {
    return {.at = at, .end = until, .links = {to_id<LinkId>(link)}};
}

LinkOutages outage(Time at, Time until, Time timer) {
    return outages({out(0, at, until)}, timer);
}

TEST(StepEvents, AFlapLastsUntilTheNextRetransmission) {
    // Down for 25 ns: three tries of 10 ns, or one of 40.
    EXPECT_EQ(end({.outages = outage(150_ns, 175_ns, 10_ns)}), 430_ns);
    EXPECT_EQ(end({.outages = outage(150_ns, 175_ns, 40_ns)}), 440_ns);
    // What sets out while the link is down counts from then on: at 200 ns, the link is back at 215.
    EXPECT_EQ(end({.outages = outage(80_ns, 115_ns, 10_ns)}), 420_ns);
    // Between two collectives it is not noticed.
    EXPECT_EQ(end({.outages = outage(220_ns, 290_ns, 10_ns)}), 400_ns);
}

TEST(StepEvents, SwitchesGoAroundADeadLinkWhenTheyHaveConverged) {
    // Half is left at 150 ns, and takes 100 ns from 180 on; the second one takes 200.
    EXPECT_EQ(end({.outages = outage(150_ns, Time::max(), 10_ns)}, true), 280_ns + 100_ns + 200_ns);
    // The link is back at 400 ns, and taken again at 430: 25 bytes are around it then.
    EXPECT_EQ(end({.outages = outage(150_ns, 400_ns, 10_ns)}, true),
              280_ns + 100_ns + 150_ns - 25_ns);
    // Shorter than the convergence: the old path.
    EXPECT_EQ(end({.outages = outage(150_ns, 160_ns, 10_ns)}, true), 410_ns);
}

// A step with several faults at different times.
TEST(StepEvents, EveryFlapOfALinkCosts) {
    // 30 ns in the first collective, 20 in the second, which begins at 330.
    const auto two = [](Time at, Time until) {
        return outages({out(0, 150_ns, 175_ns), out(0, at, until)}, 10_ns);
    };
    EXPECT_EQ(end({.outages = two(350_ns, 365_ns)}), 450_ns);
    EXPECT_EQ(end({.outages = two(240_ns, 320_ns)}), 430_ns);  // while no rank sends
    // The link goes again before the retransmission: it is heard at 190.
    EXPECT_EQ(end({.outages = two(178_ns, 185_ns)}), 440_ns);
    // Which is which does not matter.
    EXPECT_EQ(end({.outages = outages({out(0, 350_ns, 365_ns), out(0, 150_ns, 175_ns)}, 10_ns)}),
              450_ns);
}

TEST(StepEvents, TheWayAroundBreaksToo) {
    const Time never = Time::max();
    // Around from 180 on, with half the capacity; 10 bytes later that is down for 20 ns.
    EXPECT_EQ(
        end({.outages = outages({out(0, 150_ns, never), out(1, 200_ns, 220_ns)}, 10_ns)}, true),
        300_ns + 100_ns + 200_ns);
    // Down for longer than switches need: from 230 to 330 there is no path. Around from 190 on,
    // down at 200 with 45 bytes left, tried at 240, 280, 320 and 360.
    EXPECT_EQ(
        end({.outages = outages({out(0, 150_ns, never), out(1, 200_ns, 300_ns)}, 40_ns)}, true),
        360_ns + 90_ns + 100_ns + 200_ns);
    // The first is back meanwhile: its own path again, at once.
    EXPECT_EQ(
        end({.outages = outages({out(0, 150_ns, 230_ns), out(1, 240_ns, never)}, 10_ns)}, true),
        260_ns + 20_ns + 100_ns + 100_ns);
}

TEST(StepEvents, ARetransmissionThatFindsNoPathGivesUp) {
    for (const bool fold : {true, false}) {
        const SimulationOutcome hung = run({.outages = outage(150_ns, 300_ns, 20_ns)}, false, fold);
        ASSERT_TRUE(hung && hung->hang);
        EXPECT_TRUE(hung->hang->lost.empty());
        ASSERT_EQ(hung->hang->operations.size(), 1u);
        EXPECT_EQ(hung->hang->operations[0].waiting.size(), 2u);
        EXPECT_TRUE(hung->hang->operations[0].missing.empty());
    }
}

TEST(StepEvents, WhoIsLostIsWaitedForForEver) {
    for (const bool fold : {true, false}) {
        const SimulationOutcome hung =
            run({.devices = {{240_ns, kStruck, kLostDevice}}}, false, fold);
        ASSERT_TRUE(hung && hung->hang);
        EXPECT_EQ(hung->hang->lost, (std::vector<RankId>{RankId{0}}));
        ASSERT_EQ(hung->hang->operations.size(), 1u);
        const StuckOperation& stuck = hung->hang->operations[0];
        EXPECT_EQ(stuck.group, "dp");
        EXPECT_EQ(stuck.since, 300_ns);
        EXPECT_EQ(stuck.waiting, (std::vector<RankId>{RankId{1}}));
        EXPECT_EQ(stuck.missing, (std::vector<RankId>{RankId{0}}));
        EXPECT_EQ(hung->hang->since, 300_ns);
    }
}

TEST(StepEvents, WhoIsLostInACollectiveBreaksIt) {
    const SimulationOutcome hung = run({.devices = {{150_ns, kStruck, kLostDevice}}});
    ASSERT_TRUE(hung && hung->hang);
    ASSERT_EQ(hung->hang->operations.size(), 1u);
    EXPECT_EQ(hung->hang->operations[0].since, 100_ns);
    EXPECT_TRUE(hung->hang->operations[0].missing.empty());
    EXPECT_EQ(hung->hang->operations[0].waiting, (std::vector<RankId>{RankId{1}}));
}

// InfiniBand's transport timer T = 4.096 us x 2^t, seven retries: ceil(d / T) T below 7 T.
TEST(StepEvents, TheStallIsTheNextMultipleOfTheTimer) {
    const auto stall_ms = [](double down_s, int timeout) {
        const LinkOutages links{.list = {out(0, kSecond, kSecond + Time::seconds(down_s))},
                                .timer = Time::seconds(4.096e-6 * (1 << timeout))};
        const OutageWait wait = wait_of(links, avoided_sets(links), {.meets = 1}, kSecond);
        return wait.resume == Time::max() ? -1.0 : (wait.resume - kSecond).seconds() * 1e3;
    };
    EXPECT_NEAR(stall_ms(0.3, 14), 335.544, 1e-3);
    EXPECT_EQ(stall_ms(3, 14), -1);
    EXPECT_NEAR(stall_ms(3, 18), 3221.225, 1e-3);
    EXPECT_EQ(stall_ms(10, 18), -1);
    EXPECT_NEAR(stall_ms(10, 20), 12884.902, 1e-3);
    EXPECT_NEAR(stall_ms(60, 22), 68719.477, 1e-3);
}

}  // namespace step_events_test
}  // namespace orrery
