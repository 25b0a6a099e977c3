// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/routing.h"

#include <array>
#include <bit>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/splitmix.h"

namespace orrery {

namespace {

constexpr std::uint32_t kFirstNicAddress = 0x0a000000;  // 10.0.0.0
constexpr std::uint32_t kFirstDynamicPort = 0xc000;
constexpr std::uint32_t kEntropyMask = 0x3fff;

std::uint32_t murmur3_finish(std::uint32_t h) {
    h = (h ^ (h >> 16)) * 0x85ebca6b;
    h = (h ^ (h >> 13)) * 0xc2b2ae35;
    return h ^ (h >> 16);
}

}  // namespace

std::uint32_t murmur3_32(std::span<const std::uint32_t> words, std::uint32_t seed) {
    std::uint32_t h = seed;
    for (const std::uint32_t word : words) {
        h ^= std::rotl(word * 0xcc9e2d51, 15) * 0x1b873593;
        h = std::rotl(h, 13) * 5 + 0xe6546b64;
    }
    return murmur3_finish(h ^ static_cast<std::uint32_t>(words.size() * 4));
}

FiveTuple five_tuple(std::uint32_t source_nic,
                     std::uint32_t destination_nic,
                     std::uint64_t flow_label,
                     std::uint32_t queue_pair) {
    const std::uint64_t entropy = splitmix64(splitmix64(flow_label) + queue_pair);
    return {
        .source = kFirstNicAddress + source_nic,
        .destination = kFirstNicAddress + destination_nic,
        .source_port = static_cast<std::uint16_t>(kFirstDynamicPort | (entropy & kEntropyMask)),
    };
}

std::uint32_t ecmp_choice(const FiveTuple& flow,
                          std::uint32_t switch_seed,
                          std::uint32_t next_hops) {
    const std::array<std::uint32_t, 4> words = {
        flow.source,
        flow.destination,
        flow.source_port | static_cast<std::uint32_t>(flow.destination_port) << 16,
        flow.protocol,
    };
    return murmur3_32(words, switch_seed) % next_hops;
}

std::uint32_t switch_seed(std::uint64_t hash_seed, std::uint32_t switch_number) {
    return static_cast<std::uint32_t>(splitmix64(splitmix64(hash_seed) + switch_number) >> 32);
}

Router::Router(const SwitchTree& tree, const FabricSpec& fabric, std::uint32_t first_link)
    : tree_(tree),
      kind_(fabric.routing),
      hash_seed_(fabric.hash_seed),
      one_seed_(fabric.hash_seeds == HashSeeds::one),
      first_link_(first_link),
      nic_latency_(fabric.nic_latency + fabric.link_latency),
      link_latency_(fabric.link_latency) {}

std::uint32_t Router::choose(const FiveTuple& flow, Choice choice) const {
    if (choice.next_hops == 1 || kind_ == RoutingKind::spray) {
        return 0;
    }
    if (kind_ == RoutingKind::static_rail) {
        return choice.static_choice % choice.next_hops;
    }
    const std::uint32_t at = one_seed_ ? 0 : choice.at_switch;
    return ecmp_choice(flow, switch_seed(hash_seed_, at), choice.next_hops);
}

// Hashing takes the hash modulo the number of valid next hops. Adaptive routing takes the least
// loaded; on ties the first one from the hash on.
template <class Link, class Valid>
bool Router::choose_valid(const FiveTuple& flow,
                          Choice choice,
                          const LinkState& state,
                          const Link& link_of,
                          const Valid& valid,
                          std::uint32_t& chosen) const {
    const bool adaptive = kind_ == RoutingKind::adaptive && !state.load.empty();
    if (state.down.empty() && !adaptive) {
        chosen = choose(flow, choice);
        return true;
    }
    std::vector<std::uint32_t> hops;
    const std::uint32_t all = kind_ == RoutingKind::spray ? 1 : choice.next_hops;
    for (std::uint32_t hop = 0; hop < all; ++hop) {
        if (valid(hop)) {
            hops.push_back(hop);
        }
    }
    if (hops.empty()) {
        return false;
    }
    choice.next_hops = static_cast<std::uint32_t>(hops.size());
    std::uint32_t best = choose(flow, choice);
    if (adaptive) {
        const std::uint32_t first = best;
        for (std::uint32_t i = 1; i < hops.size(); ++i) {
            const std::uint32_t at = (first + i) % choice.next_hops;
            if (state.load_of(first_link_ + link_of(hops[at])) <
                state.load_of(first_link_ + link_of(hops[best]))) {
                best = at;
            }
        }
    }
    chosen = hops[best];
    return true;
}

bool Router::reaches_leaf(const Ends& ends, std::uint32_t tier2, const LinkState& state) const {
    for (std::uint32_t cable = 0; cable < tree_.leaf_cables; ++cable) {
        if (is_up(leaf_down_link(ends, tier2, cable), state)) {
            return true;
        }
    }
    return false;
}

bool Router::reaches_over_core(const Ends& ends,
                               std::uint32_t tier2,
                               std::uint32_t core_port,
                               const LinkState& state) const {
    if (!is_up(tree_.core_link_of(ends.up_block, tier2, core_port), state)) {
        return false;
    }
    const std::uint32_t core = core_port % tree_.cores_per_plane;
    for (std::uint32_t cable = 0; cable < tree_.core_cables; ++cable) {
        if (is_up(core_down_link(ends, tier2, core, cable), state)) {
            return true;
        }
    }
    return false;
}

bool Router::reaches_over_leaf_port(const Ends& ends,
                                    std::uint32_t port,
                                    const LinkState& state) const {
    const std::uint32_t tier2 = port % tree_.tier2_per_block;
    if (!is_up(tree_.leaf_link(ends.up_leaf, port), state) || !reaches_leaf(ends, tier2, state)) {
        return false;
    }
    if (ends.up_block == ends.down_block) {
        return true;
    }
    const std::uint32_t core_ports = tree_.merged ? 1 : tree_.tier2_uplinks();
    for (std::uint32_t core_port = 0; core_port < core_ports; ++core_port) {
        if (reaches_over_core(ends, tier2, core_port, state)) {
            return true;
        }
    }
    return false;
}

// `number` is the receiver's NIC, numbered along the leaves; D-mod-k uses one digit of it per tier.
bool Router::choose_hops(const FiveTuple& flow,
                         const Ends& ends,
                         std::uint32_t number,
                         const LinkState& state,
                         Hops& hops) const {
    const std::uint32_t uplinks = tree_.leaf_uplinks();
    if (!choose_valid(
            flow,
            {ends.up_leaf, uplinks, number},
            state,
            [&](std::uint32_t port) { return tree_.leaf_link(ends.up_leaf, port); },
            [&](std::uint32_t port) { return reaches_over_leaf_port(ends, port, state); },
            hops.up_port)) {
        return false;
    }
    const std::uint32_t tier2 = hops.up_port % tree_.tier2_per_block;
    std::uint32_t at = tree_.num_leaves + ends.up_block * tree_.tier2_per_block + tier2;
    if (ends.up_block != ends.down_block) {
        const std::uint32_t digit = number / tree_.tier2_per_block;
        const std::uint32_t ports = tree_.tier2_uplinks();
        choose_valid(
            flow,
            {at, ports, digit},
            state,
            [&](std::uint32_t port) { return tree_.core_link_of(ends.up_block, tier2, port); },
            [&](std::uint32_t port) { return reaches_over_core(ends, tier2, port, state); },
            hops.core_port);
        const std::uint32_t core = hops.core_port % tree_.cores_per_plane;
        at = tree_.num_leaves + tree_.num_tier2() + tier2 * tree_.cores_per_plane + core;
        const auto down = [&](std::uint32_t cable) {
            return core_down_link(ends, tier2, core, cable);
        };
        choose_valid(
            flow,
            {at, tree_.core_cables, digit % ports / tree_.cores_per_plane},
            state,
            down,
            [&](std::uint32_t cable) { return is_up(down(cable), state); },
            hops.core_cable);
        at = tree_.num_leaves + ends.down_block * tree_.tier2_per_block + tier2;
    }
    const auto down = [&](std::uint32_t cable) { return leaf_down_link(ends, tier2, cable); };
    choose_valid(
        flow,
        {at, tree_.leaf_cables, number % uplinks / tree_.tier2_per_block},
        state,
        down,
        [&](std::uint32_t cable) { return is_up(down(cable), state); },
        hops.leaf_cable);
    return true;
}

void Router::append(const Ends& ends, const Hops& hops, Path& path) const {
    const auto add = [&](std::uint32_t link) {
        path.add(to_id<LinkId>(first_link_ + link), link_latency_);
    };
    const std::uint32_t tier2 = hops.up_port % tree_.tier2_per_block;
    add(tree_.leaf_link(ends.up_leaf, hops.up_port));
    if (ends.up_block != ends.down_block) {
        const std::uint32_t core = hops.core_port % tree_.cores_per_plane;
        add(tree_.core_link_of(ends.up_block, tier2, hops.core_port));
        add(core_down_link(ends, tier2, core, hops.core_cable));
    }
    add(leaf_down_link(ends, tier2, hops.leaf_cable));
}

bool Router::route(NicPort from,
                   NicPort to,
                   std::uint64_t flow_label,
                   std::uint32_t queue_pair,
                   Path& path,
                   const LinkState& state) const {
    ORRERY_CHECK(from.node < tree_.num_nodes && from.nic < tree_.nics_per_node);
    ORRERY_CHECK(to.node < tree_.num_nodes && to.nic < tree_.nics_per_node);
    if (from == to) {
        return true;
    }
    const std::uint32_t out = tree_.nic_link(from);
    const std::uint32_t in = tree_.nic_link(to) + 1;
    if (!is_up(out, state) || !is_up(in, state)) {
        return false;
    }
    const std::uint32_t up_leaf = tree_.leaf_of(from);
    const std::uint32_t down_leaf = tree_.leaf_of(to);
    Hops hops;
    Ends ends{up_leaf, down_leaf, 0, 0};
    if (up_leaf != down_leaf) {
        ends.up_block = tree_.block_of(up_leaf);
        ends.down_block = tree_.block_of(down_leaf);
        const FiveTuple flow = five_tuple(from.node * tree_.nics_per_node + from.nic,
                                          to.node * tree_.nics_per_node + to.nic,
                                          flow_label,
                                          queue_pair);
        const std::uint32_t number =
            tree_.leaf_number(down_leaf) * tree_.nics_per_leaf() + tree_.index_under_leaf(to);
        if (!choose_hops(flow, ends, number, state, hops)) {
            return false;
        }
    }
    path.add(to_id<LinkId>(first_link_ + out), nic_latency_);
    if (up_leaf != down_leaf) {
        append(ends, hops, path);
    }
    path.add(to_id<LinkId>(first_link_ + in), nic_latency_);
    return true;
}

}  // namespace orrery
