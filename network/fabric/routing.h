// SPDX-License-Identifier: Apache-2.0
// The choice of a flow among equal next hops.
//   ECMP      murmur3-32 (Appleby; public domain algorithm) of the RoCEv2 5-tuple with a seed per
//             switch, modulo the number of next hops. The 5-tuple has source and destination
//             address, UDP, and destination port 4791. The source port has the flow's entropy in
//             its low 14 bits above 49152, as RoCE NICs derive it from the queue pair. With one
//             seed for all switches, flows that meet at one tier meet again at the next (hash
//             polarisation).
//   adaptive  the next hop with the fewest flows when the flow starts; the hash breaks ties
//   static    D-mod-k (Zahavi, "Fat-trees routing and node ordering", 2010): the destination's
//   number
//             selects the port, so that shifts of all NICs never collide
//   spraying  has one merged next hop (network/fabric/switch_tree.h)
#pragma once

#include <cstdint>
#include <span>

#include "network/fabric/cluster_spec.h"
#include "network/fabric/path.h"
#include "network/fabric/switch_tree.h"
#include "network/fluid/link_state.h"

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

// Each switch has its own seed; otherwise flows that collide at one tier collide at the next, too.
std::uint32_t switch_seed(std::uint64_t hash_seed, std::uint32_t switch_number);

class Router {
public:
    Router(const SwitchTree& tree, const FabricSpec& fabric, std::uint32_t first_link);

    // Appends the links from one NIC to another, including the links of both NICs. Switches offer
    // only next hops from which links that are up lead to the receiver. False, with nothing
    // appended, if there is none.
    bool route(NicPort from,
               NicPort to,
               std::uint64_t flow_label,
               std::uint32_t queue_pair,
               Path& path,
               const LinkState& state = {}) const;

private:
    struct Choice {
        std::uint32_t at_switch;  // leaves first, then tier 2, then cores
        std::uint32_t next_hops;
        std::uint32_t static_choice;
    };
    // A path through the switches, with one number per hop.
    struct Hops {
        std::uint32_t up_port = 0;
        std::uint32_t core_port = 0;   // of the tier-2 switch, upwards
        std::uint32_t core_cable = 0;  // from the core downwards
        std::uint32_t leaf_cable = 0;  // from the tier-2 switch to the leaf
    };
    struct Ends {
        std::uint32_t up_leaf;
        std::uint32_t down_leaf;
        std::uint32_t up_block;
        std::uint32_t down_block;
    };
    std::uint32_t choose(const FiveTuple& flow, Choice choice) const;
    // Chooses among the valid hops; false if there is none.
    template <class Link, class Valid>
    bool choose_valid(const FiveTuple& flow,
                      Choice choice,
                      const LinkState& state,
                      const Link& link_of,
                      const Valid& valid,
                      std::uint32_t& chosen) const;
    bool choose_hops(const FiveTuple& flow,
                     const Ends& ends,
                     std::uint32_t number,
                     const LinkState& state,
                     Hops& hops) const;
    bool reaches_leaf(const Ends& ends, std::uint32_t tier2, const LinkState& state) const;
    bool reaches_over_core(const Ends& ends,
                           std::uint32_t tier2,
                           std::uint32_t core_port,
                           const LinkState& state) const;
    bool reaches_over_leaf_port(const Ends& ends, std::uint32_t port, const LinkState& state) const;
    void append(const Ends& ends, const Hops& hops, Path& path) const;
    bool is_up(std::uint32_t link, const LinkState& state) const {
        return state.is_up(first_link_ + link);
    }
    std::uint32_t core_down_link(const Ends& ends,
                                 std::uint32_t tier2,
                                 std::uint32_t core,
                                 std::uint32_t cable) const {
        const std::uint32_t port = cable * tree_.cores_per_plane + core;
        return tree_.core_link_of(ends.down_block, tier2, port) + 1;
    }
    std::uint32_t leaf_down_link(const Ends& ends, std::uint32_t tier2, std::uint32_t cable) const {
        return tree_.leaf_link(ends.down_leaf, cable * tree_.tier2_per_block + tier2) + 1;
    }

    SwitchTree tree_;
    RoutingKind kind_;
    std::uint64_t hash_seed_;
    bool one_seed_;
    std::uint32_t first_link_;
    Time nic_latency_;
    Time link_latency_;
};

}  // namespace orrery
