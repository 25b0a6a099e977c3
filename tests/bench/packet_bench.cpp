// SPDX-License-Identifier: Apache-2.0
// The packet model: its event queue against std::multimap in the hold model (pop the earliest,
// schedule it again later) with the same handler, and whole permutations. CPU time counts.
#include <benchmark/benchmark.h>

#include <map>

#include "network/packet/event_wheel.h"
#include "tests/network/packet/packet_cases.h"

namespace orrery {
namespace {

using namespace literals;

// What a network schedules: 40 % about 82 ns ahead (a service), 40 % about 1 us (a wire), 15 % up
// to 20 us, 5 % timers of 1 ms.
std::int64_t increment(std::uint64_t random) {
    const auto kind = static_cast<std::uint32_t>(random % 100);
    const auto spread = static_cast<std::int64_t>(random >> 40);
    if (kind < 40) {
        return 82'000 + spread % 1000;
    }
    if (kind < 80) {
        return 1'000'000 + spread % 82'000;
    }
    return kind < 95 ? spread % 20'000'000 : 1'000'000'000 + spread % 1000;
}

// The handler touches one random cache line of its entity.
class Entities {
public:
    explicit Entities(std::size_t n) : state_(n) {}
    std::uint64_t handle(std::uint32_t target) {
        std::uint64_t& word = state_[target].words[0];
        word = packet::mix64(word + target + 0x9e3779b97f4a7c15);
        return word;
    }

private:
    struct alignas(64) Line {
        std::uint64_t words[8] = {};
    };
    std::vector<Line> state_;
};

void event_wheel(benchmark::State& state) {
    const auto pending = static_cast<std::uint32_t>(state.range(0));
    Entities entities(pending);
    packet::EventWheel wheel;
    for (std::uint32_t i = 0; i < pending; ++i) {
        wheel.schedule(increment(packet::mix64(i + 1)), i, 0);
    }
    for (auto _ : state) {
        const packet::WheelEvent event = wheel.pop();
        wheel.schedule(event.time + increment(entities.handle(event.target)), event.target, 0);
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(event_wheel)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Arg(1'000'000);

void multimap(benchmark::State& state) {
    const auto pending = static_cast<std::uint32_t>(state.range(0));
    Entities entities(pending);
    std::multimap<std::int64_t, std::uint32_t> map;
    for (std::uint32_t i = 0; i < pending; ++i) {
        map.emplace(increment(packet::mix64(i + 1)), i);
    }
    for (auto _ : state) {
        const auto [time, target] = *map.begin();
        map.erase(map.begin());
        map.emplace(time + increment(entities.handle(target)), target);
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(multimap)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Arg(1'000'000);

void report(benchmark::State& state, const testing::Outcome& outcome) {
    const auto events = static_cast<double>(outcome.totals.events);
    const auto packets = static_cast<double>(outcome.totals.data_packets);
    state.counters["events"] = benchmark::Counter(events, benchmark::Counter::kIsRate);
    state.counters["packets"] = benchmark::Counter(packets, benchmark::Counter::kIsRate);
    state.counters["median_us"] = outcome.median();
    state.counters["max_us"] = outcome.max();
}

// 1,024 hosts of the three-tier tree send 2 MB each at 100 Gb/s (htsim: 11.8 s).
void permutation_1024(benchmark::State& state) {
    const packet::Topology tree = testing::topology_of(testing::fat_tree(16, 100_Gbps, 1_us));
    for (auto _ : state) {
        report(state,
               testing::run_flows(tree,
                                  packet::published_parameters(packet::CongestionKind::nscc),
                                  testing::permutation(1024, 2'000'000_B, 1)));
    }
}
BENCHMARK(permutation_1024)->Unit(benchmark::kSecond)->Iterations(1);

// 8,192 hosts of a leaf-spine network send 1 MB each at 400 Gb/s (htsim: 45 s, 912 MB).
void permutation_8192(benchmark::State& state) {
    const packet::Topology two =
        testing::topology_of(testing::leaf_spine(128, 64, 64, 400_Gbps, 1_us));
    packet::PacketParameters p = packet::published_parameters(packet::CongestionKind::nscc);
    p.num_paths = 128;
    p.queue = Bytes{100 * 4150};
    p.ecn.kmin = Bytes{25 * 4150};
    p.ecn.kmax = Bytes{75 * 4150};
    for (auto _ : state) {
        report(state, testing::run_flows(two, p, testing::permutation(8192, 1'000'000_B, 1)));
    }
}
BENCHMARK(permutation_8192)->Unit(benchmark::kSecond)->Iterations(1);

}  // namespace
}  // namespace orrery
