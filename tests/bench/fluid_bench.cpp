// SPDX-License-Identifier: Apache-2.0
// What a flow's start and end cost in FluidRates: permutations over a three-level tree, and waves
// over a tree like MegaScale's. "flow" is the time per flow, start and end together.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>

#include "network/fluid/fluid.h"
#include "tests/network/permutation_tree.h"

namespace orrery {
namespace {

using namespace literals;

void report(benchmark::State& state, const FluidRates& rates) {
    const auto flows = static_cast<double>(rates.num_flows_started());
    state.counters["flow"] =
        benchmark::Counter(flows, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
    state.counters["solves"] = static_cast<double>(rates.num_solves());
    state.counters["flows"] = flows;
}

template <auto Run>
void permutations(benchmark::State& state) {
    const testing::PermutationTree tree(static_cast<std::uint32_t>(state.range(0)));
    FluidRates rates(tree.links());
    const auto footprints = testing::add_permutations(rates, tree);
    Time now;
    for (auto _ : state) {
        now = Run(rates, tree, footprints, now);
    }
    report(state, rates);
}
BENCHMARK(permutations<testing::run_with_barriers>)
    ->Name("with_barriers")
    ->Arg(4'096)
    ->Arg(10'240)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(permutations<testing::run_without_barriers>)
    ->Name("without_barriers")
    ->Arg(1'024)
    ->Arg(4'096)
    ->Arg(10'240)
    ->Unit(benchmark::kMillisecond);

// 12,288 NICs of 200 Gb/s: 192 ToRs of 64 NICs with 32 uplinks of 400 Gb/s, and a spine. Each link
// carries two NICs, so collisions of three and more flows matter.
constexpr std::uint32_t kNumNics = 12'288;
constexpr std::uint32_t kNumUplinks = 192 * 32;

std::vector<LinkInfo> megascale_links() {
    std::vector<LinkInfo> links(2 * kNumNics, {.capacity = 200_Gbps});
    links.resize(links.size() + 4 * kNumUplinks, {.capacity = 400_Gbps});
    return links;
}

std::vector<LinkShare> megascale_path(std::uint32_t source,
                                      std::uint32_t target,
                                      std::mt19937_64& random) {
    const auto draw = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    const std::uint32_t up = source / 64 * 32 + draw(32);
    const std::uint32_t down = target / 64 * 32 + draw(32);
    std::vector<LinkShare> path;
    for (const std::uint32_t link :
         {source,
          kNumNics + target,
          2 * kNumNics + up,
          2 * kNumNics + kNumUplinks + down,
          2 * kNumNics + 2 * kNumUplinks + up / 512 * 512 + draw(512),
          2 * kNumNics + 3 * kNumUplinks + down / 512 * 512 + draw(512)}) {
        path.push_back({.link = LinkId{link}});
    }
    return path;
}

// Coupled transfers over about `hops` random links each.
std::vector<FootprintId> add_rings(FluidRates& rates,
                                   std::uint32_t num_rings,
                                   std::uint32_t hops,
                                   std::mt19937_64& random) {
    std::vector<FootprintId> rings;
    for (std::uint32_t ring = 0; ring < num_rings; ++ring) {
        std::vector<std::uint32_t> links;
        for (std::uint32_t hop = 0; hop < hops; ++hop) {
            const std::uint64_t num_links = 2 * kNumNics + 4 * kNumUplinks;
            links.push_back(static_cast<std::uint32_t>(random() % num_links));
        }
        std::sort(links.begin(), links.end());
        links.erase(std::unique(links.begin(), links.end()), links.end());
        std::vector<LinkShare> footprint;
        for (const std::uint32_t link : links) {
            footprint.push_back({.link = LinkId{link}});
        }
        rings.push_back(rates.add_footprint(footprint));
    }
    return rings;
}

// state.range: rings, hops of each. All start at once, and end at different instants.
void ring_waves(benchmark::State& state) {
    std::mt19937_64 random(7);
    FluidRates rates(megascale_links());
    const auto rings = add_rings(rates,
                                 static_cast<std::uint32_t>(state.range(0)),
                                 static_cast<std::uint32_t>(state.range(1)),
                                 random);
    Time now;
    std::vector<FlowId> ended;
    for (auto _ : state) {
        for (const FootprintId ring : rings) {
            const auto extra = static_cast<std::int64_t>(random() % 10'000'000);
            rates.start(now, ring, Bytes{100'000'000 + extra}, Bandwidth{});
        }
        rates.settle(now);
        while (rates.next_completion() < Time::max()) {
            now = rates.next_completion();
            rates.pop_completed(now, ended);
            rates.settle(now);
        }
    }
    report(state, rates);
}
BENCHMARK(ring_waves)
    ->Args({64, 1'000})
    ->Args({64, 4'000})
    ->Args({512, 64})
    ->Unit(benchmark::kMillisecond);

// state.range: flows a wave, rings in flight. Wave w starts when half of wave w-1 has ended.
void megascale_waves(benchmark::State& state) {
    std::mt19937_64 random(7);
    FluidRates rates(megascale_links());
    const auto num_flows = static_cast<std::uint32_t>(state.range(0));
    const auto num_rings = static_cast<std::uint32_t>(state.range(1));
    for (const FootprintId ring : add_rings(rates, num_rings, 1'000, random)) {
        rates.start(Time{}, ring, Bytes{1'000'000'000'000}, Bandwidth{});  // there all the time
    }
    std::vector<FootprintId> footprints;
    for (std::uint32_t source = 0; source < kNumNics; ++source) {
        const std::uint32_t target = (source + 1'536) % kNumNics;
        footprints.push_back(rates.add_footprint(megascale_path(source, target, random)));
    }
    Time now;
    std::vector<FlowId> ended;
    std::size_t next = 0;
    for (auto _ : state) {
        for (std::uint32_t flow = 0; flow < num_flows; ++flow) {
            rates.start(now, footprints[next], Bytes{50'331'648}, Bandwidth{});
            next = (next + 1) % kNumNics;
        }
        rates.settle(now);
        for (std::size_t done = 0; done < num_flows / 2; done += ended.size()) {
            now = rates.next_completion();
            rates.pop_completed(now, ended);
            rates.settle(now);
        }
    }
    report(state, rates);
}
BENCHMARK(megascale_waves)
    ->Args({1'536, 0})
    ->Args({12'288, 0})
    ->Args({1'536, 64})
    ->Args({12'288, 64})
    ->Iterations(12)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace orrery
