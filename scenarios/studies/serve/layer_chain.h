// SPDX-License-Identifier: Apache-2.0
// Layers of one model on unequal nodes: the numbers of layers in the memory of each node's device,
// in its host's memory and on its disk, and the time of a token through the chain.
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
    std::int64_t device_layers = 0;  // capacity of the device's memory
    std::int64_t host_layers = 0;    // additional capacity of the host's memory
    std::int64_t spare_layers = 0;   // what the page cache holds beyond host_layers
    Time device_layer{};             // of one layer
    Time host_layer{};
    Time disk_layer = Time::max();   // time to read one layer from the disk; max(): no disk
    Time hop{};                      // from this node to the next one
    Time output{};                   // of the output layer on the device
    Time host_output{};              // on the host
    Time read_output{};              // time to read the output layer from the disk
    std::int64_t output_layers = 0;  // the number of layers that the output layer displaces
};

struct ChainShare {
    std::size_t node = 0;
    std::int64_t device_layers = 0;
    std::int64_t host_layers = 0;  // in the host's memory
    std::int64_t disk_layers = 0;  // computed by the host, but not in its memory
    bool output = false;           // whether the node has the output layer, too
    bool output_on_device = false;
    std::int64_t layers() const { return device_layers + host_layers + disk_layers; }
    std::int64_t computed_by_host() const { return host_layers + disk_layers; }
};

// A share as reports show it.
struct ChainNodeUse {
    std::string node;
    std::int64_t device_layers = 0;
    std::int64_t host_layers = 0;
    std::int64_t disk_layers = 0;  // read again for every token
    bool output = false;           // has the output layer
    double token_s = 0;            // time of one token, until the next node has it
};

// The number of layers that a node reads from its disk for every token. The page cache holds
// host_layers and `spare` layers. Without prefetching, pages are read on demand, and the page cache
// evicts the least recently used. A pass over more layers than it holds then finds none of them. A
// prefetch keeps the layers that fit, and reads the rest.
std::int64_t layers_from_disk(const ChainShare& share, bool prefetches, std::int64_t spare = 0);

// Each share's time of a token: computation, the transfer to the next node, and the exposed part of
// reading. A prefetch is hidden by the other nodes' times. Without one the kernel reads ahead of
// the layers that the host computes (llama.cpp, src/llama.cpp: POSIX_FADV_SEQUENTIAL).
std::vector<Time> chain_times(const std::vector<ChainNode>& nodes,
                              const std::vector<ChainShare>& shares,
                              bool prefetches);
Time chain_time(const std::vector<ChainNode>& nodes,
                const std::vector<ChainShare>& shares,
                bool prefetches);

// Splits `layers` layers over some of the nodes, in their order. Empty if no nodes can hold them.
//   one_node  the node that is fastest alone
//   even      all nodes, with equal numbers of layers
//   ring      the nodes, and the number of layers on each, with the shortest total time; slow nodes
//             are left out (Li et al., prima.cpp, arXiv:2504.08791). Nodes are removed one by one
//             while that helps.
//   full_ring the ring of all nodes, with a layer or more on each (prima.cpp before June 2025)
// The output layer is on a device only if all other layers are, too (llama.cpp: --n-gpu-layers
// counts it last; prima.cpp, README: by default it runs on the CPU).
std::vector<ChainShare> chain_shares(LayerChain kind,
                                     const std::vector<ChainNode>& nodes,
                                     std::int64_t layers);
// Whether the chain's nodes read their next layers ahead of use.
bool prefetches(LayerChain kind);

}  // namespace orrery
