// SPDX-License-Identifier: Apache-2.0
#include "network/fluid/fluid.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>

#include "tests/network/naive_sharing.h"
#include "tests/network/permutation_tree.h"

namespace orrery {
namespace fluid_test {

using namespace literals;
using testing::naive_rates;
using testing::NaiveFlow;

std::vector<LinkInfo> links_of(std::initializer_list<Bandwidth> capacities) {
    std::vector<LinkInfo> links;
    for (const Bandwidth capacity : capacities) {
        links.push_back({.capacity = capacity});
    }
    return links;
}

FlowId start(FluidRates& rates,
             std::vector<LinkShare> footprint,
             Bytes bytes = 1_MiB,
             Bandwidth rate_max = {}) {
    return rates.start(Time{}, rates.add_footprint(footprint), bytes, rate_max);
}

LinkShare on(std::uint32_t link, std::uint32_t count = 1) {
    return {.link = LinkId{link}, .count = count};
}

TEST(Fluid, OneFlowTakesBytesOverTheNarrowestLink) {
    FluidRates rates(links_of({400_Gbps, 100_Gbps, 200_Gbps}));
    const FlowId flow = start(rates, {on(0), on(1), on(2)}, 25_MiB);
    rates.settle(Time{});
    EXPECT_EQ(rates.rate(flow), 100_Gbps);
    EXPECT_EQ(rates.next_completion(), 25_MiB / 100_Gbps);
    std::vector<FlowId> ended;
    rates.pop_completed(rates.next_completion(), ended);
    EXPECT_EQ(ended, std::vector{flow});
    rates.settle(25_MiB / 100_Gbps);
    EXPECT_EQ(rates.next_completion(), Time::max());
}

TEST(Fluid, OneUnderWayEndsAsIfItHadStartedThen) {
    const Bytes size = 25_MiB;
    FluidRates watched(links_of({400_Gbps, 100_Gbps}));
    FluidRates late(links_of({400_Gbps, 100_Gbps}));
    start(watched, {on(0), on(1)}, size, 60_Gbps);
    watched.settle(Time{});
    const Time other = 1_ms;
    watched.start(other, watched.add_footprint(std::vector{on(1)}), size, {});
    late.start_under_way(
        other, late.add_footprint(std::vector{on(0), on(1)}), size, 60_Gbps, Time{});
    late.start(other, late.add_footprint(std::vector{on(1)}), size, {});
    for (FluidRates* rates : {&watched, &late}) {
        rates->settle(other);
        EXPECT_EQ(rates->rate(FlowId{0}), 50_Gbps);
    }
    EXPECT_EQ(watched.next_completion(), late.next_completion());
    EXPECT_LT(late.next_completion(), other + size / 50_Gbps);
    EXPECT_EQ(late.num_flows_started(), 2);
}

TEST(Fluid, CountDividesTheLink) {  // all flows of a ring that share an uplink
    FluidRates rates(links_of({400_Gbps, 100_Gbps}));
    const FlowId flow = start(rates, {on(0, 8), on(1)});
    rates.settle(Time{});
    EXPECT_EQ(rates.rate(flow), 50_Gbps);
}

TEST(Fluid, WhatANarrowLinkLeavesGoesToTheOthers) {  // rates 0.4, 0.4, 0.2
    FluidRates rates(links_of({1_GBps, Bandwidth::bits_per_second(1'600'000'000)}));
    const FlowId a = start(rates, {on(0)});
    const FlowId b = start(rates, {on(0)});
    const FlowId c = start(rates, {on(0), on(1)});
    rates.settle(Time{});
    EXPECT_EQ(rates.rate(a).bits_per_second(), 3'200'000'000);
    EXPECT_EQ(rates.rate(b).bits_per_second(), 3'200'000'000);
    EXPECT_EQ(rates.rate(c).bits_per_second(), 1'600'000'000);
}

TEST(Fluid, ACapLeavesRoomAndZeroMeansNoCap) {
    FluidRates rates(links_of({100_Gbps}));
    const FlowId capped = start(rates, {on(0)}, 1_MiB, 10_Gbps);
    const FlowId open = start(rates, {on(0)}, 1_MiB, Bandwidth{});
    rates.settle(Time{});
    EXPECT_EQ(rates.rate(capped), 10_Gbps);
    EXPECT_EQ(rates.rate(open), 90_Gbps);
}

TEST(Fluid, AFlowWithoutLinksRunsAtItsCap) {
    FluidRates rates(links_of({100_Gbps}));
    const FlowId flow = start(rates, {}, 1_MiB, 10_Gbps);
    rates.settle(Time{});
    EXPECT_EQ(rates.rate(flow), 10_Gbps);
}

TEST(Fluid, AnOddBitPerSecondIsNobodys) {  // simultaneous freezing: 100 / 3 for all three
    FluidRates rates(links_of({Bandwidth::bits_per_second(101), 1_Gbps}));
    const FlowId a = start(rates, {on(0)});
    const FlowId b = start(rates, {on(0), on(1)}, 1_MiB, Bandwidth::bits_per_second(33));
    const FlowId c = start(rates, {on(0)});
    rates.settle(Time{});
    EXPECT_EQ(rates.rate(a).bits_per_second(), 33);
    EXPECT_EQ(rates.rate(b).bits_per_second(), 33);
    EXPECT_EQ(rates.rate(c).bits_per_second(), 33);
}

TEST(Fluid, TwoFlowsShareThenTheSecondTakesAll) {  // weights 1:1
    FluidRates rates(links_of({1_GBps}));
    start(rates, {on(0)}, Bytes{1'000'000});
    start(rates, {on(0)}, Bytes{3'000'000});
    rates.settle(Time{});
    std::vector<FlowId> ended;
    EXPECT_EQ(rates.next_completion(), 2_ms);
    rates.pop_completed(2_ms, ended);
    EXPECT_EQ(ended.size(), 1U);
    rates.settle(2_ms);
    EXPECT_EQ(rates.next_completion(), 4_ms);
}

TEST(Fluid, ADeadLinkStopsItsFlowsUntilItIsBack) {
    FluidRates rates(links_of({1_GBps, 1_GBps}));
    const FlowId flow = start(rates, {on(0), on(1)}, Bytes{2'000'000});
    rates.settle(Time{});
    EXPECT_EQ(rates.next_completion(), 2_ms);
    rates.set_capacity(1_ms, LinkId{1}, Bandwidth{});
    rates.settle(1_ms);
    EXPECT_EQ(rates.rate(flow), Bandwidth{});
    EXPECT_EQ(rates.next_completion(), Time::max());
    rates.set_capacity(5_ms, LinkId{1}, 1_GBps);
    rates.settle(5_ms);
    EXPECT_EQ(rates.next_completion(), 6_ms);
}

TEST(Fluid, SpareCapacityNeedsNoSweepOfTheOthers) {
    FluidRates rates(links_of({400_Gbps}));
    const FlowId a = start(rates, {on(0)}, 1_MiB, 200_Gbps);
    rates.settle(Time{});
    const Time before = rates.next_completion();
    const FlowId b = start(rates, {on(0)}, 2_MiB, 200_Gbps);
    rates.settle(Time{});
    EXPECT_EQ(rates.rate(a), 200_Gbps);
    EXPECT_EQ(rates.rate(b), 200_Gbps);
    EXPECT_EQ(rates.next_completion(), before);
}

TEST(Fluid, EqualFlowsEndTogetherInAscendingOrderAndTheirIdsAreUsedAgain) {
    FluidRates rates(links_of({100_Gbps}));
    std::vector<FlowId> started;
    for (int i = 0; i < 5; ++i) {
        started.push_back(start(rates, {on(0)}));
    }
    rates.settle(Time{});
    std::vector<FlowId> ended;
    const Time end = rates.next_completion();
    EXPECT_EQ(end, 5_MiB / 100_Gbps);
    rates.pop_completed(end, ended);
    EXPECT_EQ(ended, started);
    EXPECT_LT(index(rates.start(end, FootprintId{0}, 1_MiB, {})), 5U);
    EXPECT_EQ(rates.num_flows_started(), 6);
}

// A random network, driven beside a brute-force integer simulation: the same rates after every
// settle, and the same end of every flow.
class RandomNetwork {
public:
    explicit RandomNetwork(std::uint64_t seed) : random_(seed) {
        // Small capacities make roundings and ties; large ones look like networks.
        scale_ = below(2) == 0 ? 1 : 1'000'000'000;
        const std::size_t num_links = 1 + below(24);
        std::vector<LinkInfo> links;
        for (std::size_t l = 0; l < num_links; ++l) {
            capacities_.push_back(random_capacity());
            links.push_back({.capacity = Bandwidth::bits_per_second(capacities_.back())});
        }
        rates_ = std::make_unique<FluidRates>(links);
        hops_max_ = 1 + below(num_links);
        num_flows_max_ = 1 + below(40);
    }

    void run(int num_instants) {
        for (int i = 0; i < num_instants; ++i) {
            advance();
            if (below(6) == 0) {
                stop_flow();
            }
            const std::size_t batch = below(3) == 0 ? below(12) : below(3);
            for (std::size_t k = 0; k < batch && flows_.size() < num_flows_max_; ++k) {
                start_flow();
            }
            if (below(8) == 0) {
                change_capacity();
            }
            if (below(10) == 0) {
                stop_flow();  // perhaps one that has just started, or whose link has just changed
            }
            rates_->settle(now_);
            compare();
            if (::testing::Test::HasFailure()) {
                return;
            }
        }
    }

private:
    struct Running {
        NaiveFlow flow;
        __int128 remaining = 0;
        std::int64_t rate = 0;
    };

    std::size_t below(std::size_t n) { return random_() % n; }
    std::int64_t random_capacity() { return static_cast<std::int64_t>(below(64)) * scale_; }

    void start_flow() {
        Running running;
        if (footprints_.empty() || below(3) > 0) {
            std::vector<LinkShare> footprint;
            for (std::uint32_t l = 0; l < capacities_.size(); ++l) {
                if (below(capacities_.size()) < hops_max_) {
                    footprint.push_back(
                        on(l, below(3) == 0 ? static_cast<std::uint32_t>(1 + below(4)) : 1));
                }
            }
            footprints_.push_back(footprint);
            rates_->add_footprint(footprint);
        }
        const std::size_t footprint = below(footprints_.size());
        running.flow.footprint = footprints_[footprint];
        if (running.flow.footprint.empty() || below(3) == 0) {
            running.flow.rate_max = static_cast<std::int64_t>(1 + below(16)) * scale_;
        }
        const Bytes bytes{static_cast<std::int64_t>(1 + below(6)) * (below(2) == 0 ? 1 : 977)};
        running.remaining = static_cast<__int128>(bytes.count()) * 8'000'000'000'000;
        const FlowId id = rates_->start(now_,
                                        to_id<FootprintId>(footprint),
                                        bytes,
                                        Bandwidth::bits_per_second(running.flow.rate_max));
        EXPECT_TRUE(flows_.emplace(id, running).second);
    }

    void change_capacity() {
        const std::size_t link = below(capacities_.size());
        capacities_[link] = below(4) == 0 ? 0 : random_capacity();
        rates_->set_capacity(
            now_, to_id<LinkId>(link), Bandwidth::bits_per_second(capacities_[link]));
    }

    void stop_flow() {
        if (flows_.empty()) {
            return;
        }
        const auto stopped =
            std::next(flows_.begin(), static_cast<std::ptrdiff_t>(below(flows_.size())));
        const __int128 left = (stopped->second.remaining + 7'999'999'999'999) / 8'000'000'000'000;
        EXPECT_EQ(rates_->stop(now_, stopped->first), Bytes(static_cast<std::int64_t>(left)));
        flows_.erase(stopped);
    }

    // To the next end or to some instant before it; ends what ends there.
    void advance() {
        Time next = rates_->next_completion();
        EXPECT_EQ(next, brute_force_end());
        if (next == Time::max()) {
            next = now_ + 1_us;
        } else if (below(4) == 0) {
            next = now_ + Time::picoseconds((next - now_).picoseconds() / 2);
        }
        std::vector<FlowId> expected;
        for (auto& [id, running] : flows_) {
            running.remaining -= static_cast<__int128>(running.rate) * (next - now_).picoseconds();
            if (running.remaining <= 0) {
                expected.push_back(id);
            }
        }
        now_ = next;
        std::vector<FlowId> ended{FlowId{12345}};
        rates_->pop_completed(now_, ended);
        EXPECT_EQ(ended, expected);
        for (const FlowId id : expected) {
            flows_.erase(id);
        }
    }

    // The first whole picosecond at which some remaining work is no more.
    Time brute_force_end() const {
        Time end = Time::max();
        for (const auto& [id, running] : flows_) {
            if (running.rate > 0) {
                auto span = static_cast<std::int64_t>(running.remaining / running.rate);
                while (static_cast<__int128>(running.rate) * span < running.remaining) {
                    ++span;
                }
                end = std::min(end, now_ + Time::picoseconds(span));
            }
        }
        return end;
    }

    void compare() {
        std::vector<NaiveFlow> flows;
        for (const auto& [id, running] : flows_) {
            flows.push_back(running.flow);
        }
        const std::vector<std::int64_t> expected = naive_rates(capacities_, flows);
        std::vector<std::int64_t> load(capacities_.size());
        std::size_t i = 0;
        for (auto& [id, running] : flows_) {
            running.rate = rates_->rate(id).bits_per_second();
            EXPECT_EQ(running.rate, expected[i++]) << "flow " << index(id);
            for (const LinkShare& share : running.flow.footprint) {
                load[index(share.link)] += share.count * running.rate;
            }
        }
        for (std::size_t l = 0; l < load.size(); ++l) {
            EXPECT_LE(load[l], capacities_[l]) << "link " << l;
        }
    }

    std::mt19937_64 random_;
    std::int64_t scale_ = 1;
    std::size_t hops_max_ = 1;
    std::size_t num_flows_max_ = 1;
    std::vector<std::int64_t> capacities_;
    std::vector<std::vector<LinkShare>> footprints_;
    std::unique_ptr<FluidRates> rates_;
    std::map<FlowId, Running> flows_;
    Time now_;
};

TEST(Fluid, EverySettleGivesTheRulesRatesAndEveryEndIsExact) {
    for (std::uint64_t seed = 0; seed < 1'500; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        RandomNetwork(seed).run(60);
        if (HasFailure()) {
            return;
        }
    }
}

// Exact cases that two independent programs agree on. A rate is rounded down to a
// whole bit/s, so an end may be late by some picoseconds.
double barriers_ms(std::uint32_t num_nics) {
    const testing::PermutationTree tree(num_nics);
    FluidRates rates(tree.links());
    const auto footprints = testing::add_permutations(rates, tree);
    return testing::run_with_barriers(rates, tree, footprints).seconds() * 1e3;
}

TEST(Fluid, PermutationsWithBarriersTakeTheFullestLinksTime) {
    EXPECT_NEAR(barriers_ms(1'024), 3.520, 1e-6);
    EXPECT_NEAR(barriers_ms(2'048), 5.440, 1e-6);
    EXPECT_NEAR(barriers_ms(4'096), 6.080, 1e-6);
    EXPECT_NEAR(barriers_ms(10'240), 6.720, 1e-6);
}

// The published 4.228 ms is not met: this reading of its description gives 4.212 ms, and other
// draws of the sizes 4.19 to 4.22 ms. The next test compares every rate with the rule: it is not
// the solver, so the description leaves something open.
TEST(Fluid, PermutationsWithoutBarriersAreWithinHalfAPercentOfThePublishedTime) {
    const testing::PermutationTree tree(4'096);
    FluidRates rates(tree.links());
    const auto footprints = testing::add_permutations(rates, tree);
    const Time end = testing::run_without_barriers(rates, tree, footprints);
    EXPECT_NEAR(end.seconds() * 1e3, 4.228, 0.005 * 4.228);
    EXPECT_EQ(rates.num_flows_started(), 3 * 4'096);
}

// FluidRates, with every rate compared with the rule's after every settle.
class JudgedRates : public FluidRates {
public:
    explicit JudgedRates(const std::vector<LinkInfo>& links) : FluidRates(links) {
        for (const LinkInfo& link : links) {
            capacities_.push_back(link.capacity.bits_per_second());
        }
    }
    FootprintId add_footprint(std::span<const LinkShare> footprint) override {
        footprints_.emplace_back(footprint.begin(), footprint.end());
        return FluidRates::add_footprint(footprint);
    }
    FlowId start(Time now, FootprintId footprint, Bytes bytes, Bandwidth rate_max) override {
        const FlowId flow = FluidRates::start(now, footprint, bytes, rate_max);
        flows_[flow] = {.footprint = footprints_[index(footprint)],
                        .rate_max = rate_max.bits_per_second()};
        return flow;
    }
    void settle(Time now) override {
        FluidRates::settle(now);
        std::vector<NaiveFlow> flows;
        for (const auto& [id, flow] : flows_) {
            flows.push_back(flow);
        }
        const std::vector<std::int64_t> expected = naive_rates(capacities_, flows);
        std::size_t i = 0;
        for (const auto& [id, flow] : flows_) {
            num_wrong += rate(id).bits_per_second() != expected[i++] ? 1 : 0;
            ++num_compared;
        }
    }
    void pop_completed(Time now, std::vector<FlowId>& ended) override {
        FluidRates::pop_completed(now, ended);
        for (const FlowId flow : ended) {
            flows_.erase(flow);
        }
    }

    std::int64_t num_wrong = 0;
    std::int64_t num_compared = 0;

private:
    std::vector<std::int64_t> capacities_;
    std::vector<std::vector<LinkShare>> footprints_;
    std::map<FlowId, NaiveFlow> flows_;
};

TEST(Fluid, OverATreeEverySettleGivesTheRulesRates) {
    const testing::PermutationTree tree(512);
    JudgedRates rates(tree.links());
    const auto footprints = testing::add_permutations(rates, tree);
    const Time end = testing::run_with_barriers(rates, tree, footprints);
    testing::run_without_barriers(rates, tree, footprints, end);
    EXPECT_EQ(rates.num_wrong, 0);
    EXPECT_GT(rates.num_compared, 100'000);
}

}  // namespace fluid_test
}  // namespace orrery
