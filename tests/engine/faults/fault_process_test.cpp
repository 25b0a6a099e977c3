// SPDX-License-Identifier: Apache-2.0
#include "engine/faults/fault_process.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace orrery {
namespace {

const ClusterShape kShape{.nodes = 200};

FaultProcess exponential(FaultKind kind, Scope scope, WallTime mtbf) {
    return {.name = std::string{name(kind)},
            .kind = kind,
            .at = {scope, kEvery},
            .interval = {.kind = DistributionKind::exponential, .scale = mtbf}};
}

std::vector<FaultEvent> of_node(const std::vector<FaultEvent>& events,
                                std::uint32_t node,
                                FaultKind kind) {
    std::vector<FaultEvent> found;
    for (FaultEvent event : events) {
        if (event.nodes.first == node && event.nodes.count == 1 && event.kind == kind) {
            event.process = 0;
            found.push_back(event);
        }
    }
    return found;
}

TEST(FaultProcess, SameSeedSameFaultsAndAnotherSeedOthers) {
    const std::vector<FaultProcess> processes{
        exponential(FaultKind::gpu_lost, Scope::gpu, WallTime::days(300))};
    const auto a = make_schedule(processes, {}, kShape, WallTime::days(30), 1);
    EXPECT_EQ(a, make_schedule(processes, {}, kShape, WallTime::days(30), 1));
    EXPECT_NE(a, make_schedule(processes, {}, kShape, WallTime::days(30), 2));
    EXPECT_TRUE(std::is_sorted(
        a.begin(), a.end(), [](const auto& x, const auto& y) { return x.time < y.time; }));
}

// 1,000 scenarios: neither more nodes nor another class of faults touch anybody's faults.
TEST(FaultProcess, NobodysFaultsDependOnWhoElseIsThere) {
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
        const ClusterShape small{.nodes = 5};
        const ClusterShape large{.nodes = 9};
        const std::vector<FaultProcess> one{
            exponential(FaultKind::node_crash, Scope::node, WallTime::days(20))};
        const std::vector<FaultProcess> two{
            exponential(FaultKind::nic_down, Scope::node, WallTime::days(3)), one[0]};
        const auto a = make_schedule(one, {}, small, WallTime::days(30), seed);
        const auto b = make_schedule(two, {}, large, WallTime::days(30), seed);
        for (std::uint32_t node = 0; node < small.nodes; ++node) {
            ASSERT_EQ(of_node(a, node, FaultKind::node_crash),
                      of_node(b, node, FaultKind::node_crash))
                << seed;
        }
    }
}

TEST(FaultProcess, TwoProcessesOfOneKindAreIndependent) {
    const FaultProcess crash = exponential(FaultKind::node_crash, Scope::node, WallTime::days(20));
    const auto events = make_schedule({crash, crash}, {}, kShape, WallTime::days(30), 1);
    for (std::size_t i = 1; i < events.size(); ++i) {
        EXPECT_NE(events[i].time, events[i - 1].time);
    }
}

TEST(FaultProcess, CountsAreWhatTheRateSays) {
    // S6 of the reference cases: 3,000 links at 0.057 % a month.
    FaultProcess links =
        exponential(FaultKind::nic_down, Scope::node, WallTime::days(30 / 0.00057));
    const ClusterShape shape{.nodes = 3000};
    EXPECT_NEAR(expected_faults(links, shape, WallTime::days(30)), 1.71, 0.001);
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        sum +=
            static_cast<double>(make_schedule({links}, {}, shape, WallTime::days(30), seed).size());
    }
    EXPECT_NEAR(sum / 200, 1.71, 4 * std::sqrt(1.71 / 200));
}

TEST(FaultProcess, FrailtyMakesLemons) {
    FaultProcess process = exponential(FaultKind::gpu_lost, Scope::node, WallTime::days(239));
    process.frailty = 0.93;  // negative binomial k of the InfiniteHBD trace
    const ClusterShape shape{.nodes = 20000};
    const auto events = make_schedule({process}, {}, shape, WallTime::days(348.98), 4);
    std::vector<double> counts(shape.nodes, 0);
    for (const FaultEvent& event : events) {
        counts[event.nodes.first] += 1;
    }
    double sum = 0;
    double squares = 0;
    for (const double c : counts) {
        sum += c;
        squares += c * c;
    }
    const double mean = sum / shape.nodes;
    const double variance = squares / shape.nodes - mean * mean;
    EXPECT_NEAR(mean, 1.46, 0.06);
    EXPECT_NEAR(variance / mean, 1 + 1.46 / 0.93, 0.15);  // 2.57 in the trace
    const auto none = std::count(counts.begin(), counts.end(), 0.0);
    EXPECT_NEAR(static_cast<double>(none) / shape.nodes, 169.0 / 400, 0.03);
}

TEST(FaultProcess, BurstsMakeDaysDiffer) {
    const ClusterShape shape{.nodes = 400};
    const FaultProcess process = exponential(FaultKind::gpu_lost, Scope::node, WallTime::days(239));
    const double daily = 400.0 / 239;
    const FaultWeather weather{.burst_shape = daily / (3.43 - 1)};
    constexpr std::uint32_t kDays = 20000;
    const auto events = make_schedule({process}, weather, shape, WallTime::days(kDays), 2);
    std::vector<double> counts(kDays, 0);
    for (const FaultEvent& event : events) {
        counts[static_cast<std::size_t>(event.time.days())] += 1;
    }
    double sum = 0;
    double squares = 0;
    for (const double c : counts) {
        sum += c;
        squares += c * c;
    }
    const double mean = sum / kDays;
    EXPECT_NEAR(mean, daily, 0.07);
    EXPECT_NEAR((squares / kDays - mean * mean) / mean, 3.43, 0.25);
}

TEST(FaultProcess, LotteriesPickTheirShareOfComponents) {
    FaultProcess process = exponential(FaultKind::slow_host, Scope::node, WallTime::hours(1));
    process.probability = 0.005;
    const ClusterShape shape{.nodes = 100000};
    std::map<std::uint32_t, int> nodes;
    for (const FaultEvent& e : make_schedule({process}, {}, shape, WallTime::days(1), 3)) {
        ++nodes[e.nodes.first];
    }
    EXPECT_NEAR(static_cast<double>(nodes.size()), 500, 4 * std::sqrt(500.0));
}

TEST(FaultProcess, DomainsFallAsAWhole) {
    const auto events =
        make_schedule({exponential(FaultKind::power_loss, Scope::pdu, WallTime::days(100))},
                      {},
                      kShape,
                      WallTime::days(50),
                      1);
    ASSERT_FALSE(events.empty());
    for (const FaultEvent& event : events) {
        EXPECT_EQ(event.nodes.count, 4u);
        EXPECT_EQ(event.nodes.first % 4, 0u);
    }
}

TEST(FaultProcess, EscalationFollowsAtTheSamePlace) {
    FaultProcess process = exponential(FaultKind::ecc_correctable, Scope::gpu, WallTime::days(500));
    process.escalation = Escalation{FaultKind::hbm_uncorrectable, 0.25, WallTime::hours(5)};
    const auto events = make_schedule({process}, {}, kShape, WallTime::days(200), 1);
    std::map<std::uint32_t, WallTime> first;
    double mild = 0;
    double severe = 0;
    for (const FaultEvent& event : events) {
        if (event.kind == FaultKind::ecc_correctable) {
            ++mild;
            first.emplace(event.nodes.first, event.time);
        } else {
            ++severe;
            ASSERT_TRUE(first.contains(event.nodes.first));
            EXPECT_GE(event.time, first[event.nodes.first]);
        }
    }
    EXPECT_NEAR(severe / mild, 0.25, 4 * std::sqrt(0.25 * 0.75 / mild) + 0.01);
}

TEST(FaultProcess, MarksThinARateThatIsDrawnAtItsLargest) {
    const FaultProcess process = exponential(FaultKind::gpu_lost, Scope::node, WallTime::days(10));
    const auto all = make_schedule({process}, {.boost_max = 4}, kShape, WallTime::days(100), 1);
    const auto real =
        std::count_if(all.begin(), all.end(), [](const FaultEvent& e) { return e.mark < 1; });
    EXPECT_NEAR(static_cast<double>(all.size()), 8000, 4 * std::sqrt(8000.0));
    EXPECT_NEAR(static_cast<double>(real), 2000, 4 * std::sqrt(2000.0));
}

}  // namespace
}  // namespace orrery
