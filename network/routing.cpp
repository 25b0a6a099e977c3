// SPDX-License-Identifier: Apache-2.0
#include "network/routing.h"

#include <array>
#include <bit>

#include "engine/check.h"

namespace orrery {

namespace {

constexpr std::uint32_t kFirstNicAddress = 0x0a000000;  // 10.0.0.0
constexpr std::uint32_t kFirstDynamicPort = 0xc000;
constexpr std::uint32_t kEntropyMask = 0x3fff;

// splitmix64 (Steele, Lea, Flood, 2014): a bijection that spreads every input bit.
std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

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
    const std::uint64_t entropy = mix(mix(flow_label) + queue_pair);
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
    return static_cast<std::uint32_t>(mix(mix(hash_seed) + switch_number) >> 32);
}

Router::Router(const SwitchTree& tree, const FabricSpec& fabric, std::uint32_t first_link)
    : tree_(tree),
      kind_(fabric.routing),
      hash_seed_(fabric.hash_seed),
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
    return ecmp_choice(flow, switch_seed(hash_seed_, choice.at_switch), choice.next_hops);
}

void Router::route(NicPort from,
                   NicPort to,
                   std::uint64_t flow_label,
                   std::uint32_t queue_pair,
                   Path& path) const {
    ORRERY_CHECK(from.node < tree_.num_nodes && from.nic < tree_.nics_per_node);
    ORRERY_CHECK(to.node < tree_.num_nodes && to.nic < tree_.nics_per_node);
    if (from == to) {
        return;
    }
    const auto add = [&](std::uint32_t link, Time latency) {
        path.add(to_id<LinkId>(first_link_ + link), latency);
    };
    const std::uint32_t up_leaf = tree_.leaf_of(from);
    const std::uint32_t down_leaf = tree_.leaf_of(to);
    add(tree_.nic_link(from), nic_latency_);
    if (up_leaf != down_leaf) {
        const FiveTuple flow = five_tuple(from.node * tree_.nics_per_node + from.nic,
                                          to.node * tree_.nics_per_node + to.nic,
                                          flow_label,
                                          queue_pair);
        // D-mod-k: NICs numbered along the leaves; one digit of that number per tier.
        const std::uint32_t number =
            tree_.leaf_number(down_leaf) * tree_.nics_per_leaf() + tree_.index_under_leaf(to);
        const std::uint32_t uplinks = tree_.leaf_uplinks();
        const std::uint32_t port = choose(flow, {up_leaf, uplinks, number});
        const std::uint32_t tier2 = port % tree_.tier2_per_block;
        std::uint32_t block = tree_.block_of(up_leaf);
        std::uint32_t at = tree_.num_leaves + block * tree_.tier2_per_block + tier2;
        add(tree_.leaf_link(up_leaf, port), link_latency_);
        if (block != tree_.block_of(down_leaf)) {
            const std::uint32_t digit = number / tree_.tier2_per_block;
            const std::uint32_t hops = tree_.tier2_uplinks();
            const std::uint32_t up = choose(flow, {at, hops, digit});
            add(tree_.core_link_of(block, tier2, up), link_latency_);
            const std::uint32_t core = up % tree_.cores_per_plane;
            at = tree_.num_leaves + tree_.num_tier2() + tier2 * tree_.cores_per_plane + core;
            block = tree_.block_of(down_leaf);
            const std::uint32_t cable =
                choose(flow, {at, tree_.core_cables, digit % hops / tree_.cores_per_plane});
            const std::uint32_t down = cable * tree_.cores_per_plane + core;
            add(tree_.core_link_of(block, tier2, down) + 1, link_latency_);
            at = tree_.num_leaves + block * tree_.tier2_per_block + tier2;
        }
        const std::uint32_t cable =
            choose(flow, {at, tree_.leaf_cables, number % uplinks / tree_.tier2_per_block});
        add(tree_.leaf_link(down_leaf, cable * tree_.tier2_per_block + tier2) + 1, link_latency_);
    }
    add(tree_.nic_link(to) + 1, nic_latency_);
}

}  // namespace orrery
