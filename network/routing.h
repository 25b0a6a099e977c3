// SPDX-License-Identifier: Apache-2.0
// Which of the equal next hops a flow takes. ECMP: murmur3-32 (Appleby; public domain algorithm) of
// the RoCEv2 5-tuple with a seed per switch, modulo the number of next hops. Source and destination
// address, UDP, destination port 4791; the source port carries the flow's entropy in its low 14
// bits above 49152, as RoCE NICs derive it from the queue pair. Static: D-mod-k (Zahavi, "Fat-trees
// routing and node ordering", 2010): the destination's number picks the port, so that shifts of all
// NICs never collide. Spraying has one merged next hop (network/switch_tree.h).
#pragma once

#include <cstdint>
#include <span>

#include "network/cluster_spec.h"
#include "network/path.h"
#include "network/switch_tree.h"

namespace orrery {

struct FiveTuple {
    std::uint32_t source = 0;  // addresses of NICs
    std::uint32_t destination = 0;
    std::uint16_t source_port = 0;
    std::uint16_t destination_port = 4791;
    std::uint8_t protocol = 17;
    bool operator==(const FiveTuple&) const = default;
};

std::uint32_t murmur3_32(std::span<const std::uint32_t> words, std::uint32_t seed);

FiveTuple five_tuple(std::uint32_t source_nic,
                     std::uint32_t destination_nic,
                     std::uint64_t flow_label,
                     std::uint32_t queue_pair);

// 0 … next_hops-1.
std::uint32_t ecmp_choice(const FiveTuple& flow,
                          std::uint32_t switch_seed,
                          std::uint32_t next_hops);

// Each switch has its own seed, or flows that collide at one tier would collide at the next too.
std::uint32_t switch_seed(std::uint64_t hash_seed, std::uint32_t switch_number);

class Router {
public:
    Router(const SwitchTree& tree, const FabricSpec& fabric, std::uint32_t first_link);

    // Appends the links from one NIC to another one, both directions' ends included.
    void route(NicPort from,
               NicPort to,
               std::uint64_t flow_label,
               std::uint32_t queue_pair,
               Path& path) const;

private:
    struct Choice {
        std::uint32_t at_switch;  // leaves first, then tier 2, then cores
        std::uint32_t next_hops;
        std::uint32_t static_choice;
    };
    std::uint32_t choose(const FiveTuple& flow, Choice choice) const;

    SwitchTree tree_;
    RoutingKind kind_;
    std::uint64_t hash_seed_;
    std::uint32_t first_link_;
    Time nic_latency_;
    Time link_latency_;
};

}  // namespace orrery
