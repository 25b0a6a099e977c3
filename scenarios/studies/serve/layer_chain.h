// SPDX-License-Identifier: Apache-2.0
// Layers of one model on nodes that differ: which node holds how many of them in the memory of its
// device, in that of its host, and on its disk, and what a token takes on its way round.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/units.h"
#include "scenarios/format/specs/serving_spec.h"

namespace orrery {

// A node, for a step that generates one token.
struct ChainNode {
    std::string name{};
    std::int64_t device_layers = 0;  // that the device's memory holds
    std::int64_t host_layers = 0;    // that the host's memory holds besides
    Time device_layer{};             // of one layer
    Time host_layer{};
    Time disk_layer = Time::max();   // reading one from the disk; max(): there is none
    Time hop{};                      // from this node to the next one
    Time output{};                   // of the output layer
    std::int64_t output_layers = 0;  // layers that it leaves no room for
};

struct ChainShare {
    std::size_t node = 0;
    std::int64_t device_layers = 0;
    std::int64_t host_layers = 0;  // in the host's memory
    std::int64_t disk_layers = 0;  // that the host computes and its memory does not hold
    bool output = false;           // has the output layer, too
    std::int64_t layers() const { return device_layers + host_layers + disk_layers; }
    std::int64_t computed_by_host() const { return host_layers + disk_layers; }
};

// A share as reports show it.
struct ChainNodeUse {
    std::string node;
    std::int64_t device_layers = 0;
    std::int64_t host_layers = 0;
    std::int64_t disk_layers = 0;  // read for every token
    bool output = false;           // has the output layer
    double token_s = 0;            // of one token, until the next node has it
};

// What a node reads from its disk for every token. Without prefetching, pages come when they are
// needed, and the page cache gives up those used longest ago: a pass over more than it holds finds
// none of them. A prefetch keeps what fits and reads the rest.
std::int64_t layers_from_disk(const ChainShare& share, bool prefetches);

// Each share's time of a token: computation and the way to the next node, and what reading takes
// longer than the hidden part. A prefetch hides behind the other nodes' times.
std::vector<Time> chain_times(const std::vector<ChainNode>& nodes,
                              const std::vector<ChainShare>& shares,
                              bool prefetches);
Time chain_time(const std::vector<ChainNode>& nodes,
                const std::vector<ChainShare>& shares,
                bool prefetches);

// `layers` layers on some of the nodes, in their order; empty if no nodes can hold them.
//   one_node  the node that takes the shortest time alone
//   even      all nodes, equally many layers each
//   ring      those nodes, and as many layers on each, that take the shortest time together: slow
//             nodes are left out (Li et al., prima.cpp, arXiv:2504.08791). Nodes are taken away one
//             by one while that helps.
std::vector<ChainShare> chain_shares(LayerChain kind,
                                     const std::vector<ChainNode>& nodes,
                                     std::int64_t layers);
// Whether its nodes read ahead what they will need.
bool prefetches(LayerChain kind);

}  // namespace orrery
