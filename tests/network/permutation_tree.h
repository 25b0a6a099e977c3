// SPDX-License-Identifier: Apache-2.0
// A three-level tree and permutations that shift by a drawn distance: NICs of 50 GB/s, leaves of
// 32 NICs with 32 uplinks, pods of 16 leaves and 32 level-2 switches with 16 uplinks each, ECMP by
// splitmix64 labels. Drives a SharedRates through three steps, with and without barriers.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/network_model.h"

namespace orrery::testing {

// splitmix64 of state x.
constexpr std::uint64_t splitmix64(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}
static_assert(splitmix64(0) == 0xe220a8397b1dcdaf);
static_assert(splitmix64(1) == 0x910a2dec89025cc1);

class PermutationTree {
public:
    explicit PermutationTree(std::uint32_t num_nics) : num_nics_(num_nics) {}

    std::uint32_t num_nics() const { return num_nics_; }
    // Six kinds of links (NIC, leaf and level 2, up and down), one of each kind per NIC.
    std::vector<LinkInfo> links() const {
        return std::vector<LinkInfo>(std::size_t{6} * num_nics_,
                                     {.capacity = Bandwidth::bytes_per_second(50'000'000'000)});
    }
    std::uint32_t destination(std::uint32_t source, std::uint32_t step) const {
        const std::uint64_t shift = 1 + splitmix64(step) % (num_nics_ - 1);
        return static_cast<std::uint32_t>((source + shift) % num_nics_);
    }
    std::vector<LinkShare> path(std::uint32_t source,
                                std::uint32_t target,
                                std::uint32_t step) const {
        const std::uint64_t pair = (std::uint64_t{source} << 32) | target;
        const std::uint64_t label = splitmix64(pair ^ (std::uint64_t{7919} * step));
        const auto middle = static_cast<std::uint32_t>(label % 32);
        const auto core = static_cast<std::uint32_t>((label >> 8) % 16);
        const std::uint32_t from_leaf = source / 32;
        const std::uint32_t to_leaf = target / 32;
        const std::uint32_t from_pod = from_leaf / 16;
        const std::uint32_t to_pod = to_leaf / 16;
        std::vector<LinkShare> path{on(0, source), on(1, target)};
        if (from_leaf != to_leaf) {
            path.push_back(on(2, from_leaf * 32 + middle));
            path.push_back(on(3, to_leaf * 32 + middle));
        }
        if (from_pod != to_pod) {
            path.push_back(on(4, (from_pod * 32 + middle) * 16 + core));
            path.push_back(on(5, (to_pod * 32 + middle) * 16 + core));
        }
        return path;
    }

private:
    LinkShare on(std::uint32_t kind, std::uint32_t link) const {
        return {.link = LinkId{kind * num_nics_ + link}, .count = 1};
    }
    std::uint32_t num_nics_;
};

constexpr std::uint32_t kNumSteps = 3;

// footprints[step * num_nics + source].
inline std::vector<FootprintId> add_permutations(SharedRates& rates, const PermutationTree& tree) {
    std::vector<FootprintId> footprints;
    for (std::uint32_t step = 0; step < kNumSteps; ++step) {
        for (std::uint32_t source = 0; source < tree.num_nics(); ++source) {
            footprints.push_back(
                rates.add_footprint(tree.path(source, tree.destination(source, step), step)));
        }
    }
    return footprints;
}

// Three steps of equal flows, each step after the end of the one before. The end of the last.
inline Time run_with_barriers(SharedRates& rates,
                              const PermutationTree& tree,
                              const std::vector<FootprintId>& footprints,
                              Time start = Time{}) {
    Time now = start;
    std::vector<FlowId> ended;
    for (std::uint32_t step = 0; step < kNumSteps; ++step) {
        const std::size_t first = std::size_t{step} * tree.num_nics();
        for (std::size_t source = 0; source < tree.num_nics(); ++source) {
            rates.start(now, footprints[first + source], Bytes{16'000'000}, Bandwidth{});
        }
        rates.settle(now);
        while (rates.next_completion() < Time::max()) {
            now = rates.next_completion();
            rates.pop_completed(now, ended);
            rates.settle(now);
        }
    }
    return now;
}

// A rank starts a step when its send and its receive of the step before are done. Sizes vary by 5
// %.
inline Time run_without_barriers(SharedRates& rates,
                                 const PermutationTree& tree,
                                 const std::vector<FootprintId>& footprints,
                                 Time start = Time{}) {
    const std::uint32_t num_nics = tree.num_nics();
    std::vector<std::uint32_t> missing(std::size_t{kNumSteps} * num_nics, 2);
    std::vector<std::uint32_t> sent_by(num_nics);  // by flow id: step * num_nics + source
    Time now = start;
    const auto send = [&](std::uint32_t step, std::uint32_t source) {
        const std::uint64_t hash = splitmix64(std::uint64_t{1'000'003} * source + step) >> 11;
        const double size = 16e6 * (1 + 0.05 * static_cast<double>(hash) * 0x1p-53);
        const std::uint32_t number = step * num_nics + source;
        const FlowId flow = rates.start(
            now, footprints[number], Bytes{static_cast<std::int64_t>(size)}, Bandwidth{});
        sent_by[index(flow)] = number;
    };
    for (std::uint32_t source = 0; source < num_nics; ++source) {
        send(0, source);
    }
    rates.settle(now);
    std::vector<FlowId> ended;
    std::vector<std::uint32_t> sent;
    while (rates.next_completion() < Time::max()) {
        now = rates.next_completion();
        rates.pop_completed(now, ended);
        sent.clear();
        for (const FlowId flow : ended) {
            sent.push_back(sent_by[index(flow)]);
        }
        for (const std::uint32_t number : sent) {
            const std::uint32_t step = number / num_nics;
            const std::uint32_t source = number % num_nics;
            for (const std::uint32_t nic : {source, tree.destination(source, step)}) {
                if (--missing[std::size_t{step} * num_nics + nic] == 0 && step + 1 < kNumSteps) {
                    send(step + 1, nic);
                }
            }
        }
        rates.settle(now);
    }
    return now;
}

}  // namespace orrery::testing
