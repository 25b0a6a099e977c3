// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/layer_chain.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/serving/run_clock.h"

namespace orrery {

namespace {

using Nodes = std::vector<ChainNode>;
using Shares = std::vector<ChainShare>;

// Time of a token on a node without reads from the disk. `moves`: the token continues to another
// node.
Time alone_time(const ChainNode& node, const ChainShare& share, bool moves) {
    const Time layers = bounded_sum(bounded_product(node.device_layer, share.device_layers),
                                    bounded_product(node.host_layer, share.computed_by_host()));
    const Time output = share.output_on_device ? node.output : node.host_output;
    return bounded_sum(bounded_sum(layers, moves ? node.hop : Time{}),
                       share.output ? output : Time{});
}

// Whether a node's device holds a whole model of `layers` layers with its output layer.
bool device_holds(const ChainNode& node, std::int64_t layers) {
    return node.device_layers >= layers + node.output_layers;
}

// Layers that fit in memory beside the share's output layer.
struct Room {
    std::int64_t device = 0;
    std::int64_t host = 0;
};
Room room_of(const ChainNode& node, const ChainShare& share) {
    Room room{.device = node.device_layers, .host = node.host_layers};
    if (share.output) {
        std::int64_t& taken = share.output_on_device ? room.device : room.host;
        taken = std::max<std::int64_t>(0, taken - node.output_layers);
    }
    return room;
}

// A share of `layers` layers that fills the device's memory first, then the host's, then the disk.
ChainShare share_of(const Nodes& nodes, ChainShare share, std::int64_t layers) {
    const Room room = room_of(nodes[share.node], share);
    share.device_layers = std::min(layers, room.device);
    share.host_layers = std::min(layers - share.device_layers, room.host);
    share.disk_layers = layers - share.device_layers - share.host_layers;
    return share;
}

bool can_hold(const Nodes& nodes, const Shares& shares) {
    return std::ranges::all_of(shares, [&](const ChainShare& share) {
        return share.disk_layers == 0 || nodes[share.node].disk_layer < Time::max();
    });
}

std::size_t fastest_output(const Nodes& nodes, const std::vector<std::size_t>& taken) {
    return *std::ranges::min_element(taken, {}, [&](std::size_t node) {
        return std::pair{nodes[node].host_output, node};
    });
}

// Puts `left` layers into the fastest memories that have room. Returns the number that is left.
std::int64_t fill_memories(const Nodes& nodes, Shares& shares, std::int64_t left) {
    std::vector<std::pair<Time, std::pair<std::size_t, bool>>> memories;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        memories.push_back({nodes[shares[i].node].device_layer, {i, true}});
        memories.push_back({nodes[shares[i].node].host_layer, {i, false}});
    }
    std::ranges::sort(memories);
    for (const auto& [time, place] : memories) {
        ChainShare& share = shares[place.first];
        const Room room = room_of(nodes[share.node], share);
        std::int64_t& held = place.second ? share.device_layers : share.host_layers;
        const std::int64_t free = (place.second ? room.device : room.host) - held;
        const std::int64_t put = std::clamp<std::int64_t>(free, 0, left);
        held += put;
        left -= put;
    }
    return left;
}

// Gives each share `each` layers and fills the fastest memories. The remaining layers go one by one
// to the disk with which the chain is fastest. The first node is the head, which has the output
// layer (prima.cpp, common/common.cpp, assign_layers_to_device: `bo * int(m == 0)`).
Shares fastest_shares(const Nodes& nodes,
                      const std::vector<std::size_t>& taken,
                      std::int64_t layers,
                      std::int64_t each = 0) {
    if (layers < each * static_cast<std::int64_t>(taken.size())) {
        return {};
    }
    const bool alone = taken.size() == 1;
    Shares shares;
    for (const std::size_t node : taken) {
        const bool head = node == taken.front();
        shares.push_back(
            share_of(nodes,
                     {.node = node,
                      .output = head,
                      .output_on_device = head && alone && device_holds(nodes[node], layers)},
                     each));
    }
    std::int64_t left = layers - each * static_cast<std::int64_t>(taken.size());
    left = fill_memories(nodes, shares, left);
    for (; left > 0; --left) {
        std::size_t best = shares.size();
        Time least = Time::max();
        for (std::size_t i = 0; i < shares.size(); ++i) {
            if (nodes[shares[i].node].disk_layer == Time::max()) {
                continue;
            }
            ++shares[i].disk_layers;
            if (const Time time = chain_time(nodes, shares, true); time < least) {
                least = time;
                best = i;
            }
            --shares[i].disk_layers;
        }
        if (best == shares.size()) {
            return {};
        }
        ++shares[best].disk_layers;
    }
    std::erase_if(shares,
                  [](const ChainShare& share) { return share.layers() == 0 && !share.output; });
    return shares;
}

Time time_of(const Nodes& nodes, const Shares& shares) {
    return shares.empty() ? Time::max() : chain_time(nodes, shares, true);
}

Shares ring_shares(const Nodes& nodes, std::int64_t layers) {
    std::vector<std::size_t> taken(nodes.size());
    std::iota(taken.begin(), taken.end(), std::size_t{0});
    Shares best = fastest_shares(nodes, taken, layers);
    while (taken.size() > 1) {
        Shares smaller;
        std::size_t without = 0;
        for (std::size_t i = 0; i < taken.size(); ++i) {
            std::vector<std::size_t> rest = taken;
            rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
            Shares shares = fastest_shares(nodes, rest, layers);
            if (time_of(nodes, shares) < time_of(nodes, smaller)) {
                smaller = std::move(shares);
                without = i;
            }
        }
        if (smaller.empty() || time_of(nodes, smaller) > time_of(nodes, best)) {
            break;
        }
        best = std::move(smaller);
        taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(without));
    }
    return best;
}

// The ring of all nodes, each of which has a layer.
Shares full_ring_shares(const Nodes& nodes, std::int64_t layers) {
    std::vector<std::size_t> all(nodes.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    Shares shares = fastest_shares(nodes, all, layers, 1);
    return can_hold(nodes, shares) ? shares : Shares{};
}

Shares one_node_shares(const Nodes& nodes, std::int64_t layers) {
    Shares best;
    Time least = Time::max();
    for (std::size_t node = 0; node < nodes.size(); ++node) {
        Shares alone{share_of(
            nodes,
            {.node = node, .output = true, .output_on_device = device_holds(nodes[node], layers)},
            layers)};
        if (can_hold(nodes, alone) && chain_time(nodes, alone, false) < least) {
            least = chain_time(nodes, alone, false);
            best = std::move(alone);
        }
    }
    return best;
}

Shares even_shares(const Nodes& nodes, std::int64_t layers) {
    std::vector<std::size_t> all(nodes.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const std::size_t output = fastest_output(nodes, all);
    const auto count = static_cast<std::int64_t>(nodes.size());
    Shares shares;
    for (const std::size_t node : all) {
        const std::int64_t own =
            layers / count + (static_cast<std::int64_t>(node) < layers % count ? 1 : 0);
        const bool whole = count == 1 && device_holds(nodes[node], own);
        shares.push_back(share_of(
            nodes, {.node = node, .output = node == output, .output_on_device = whole}, own));
    }
    return can_hold(nodes, shares) ? shares : Shares{};
}

}  // namespace

bool prefetches(LayerChain kind) {
    return kind == LayerChain::ring || kind == LayerChain::full_ring;
}

std::int64_t layers_from_disk(const ChainShare& share, bool prefetches, std::int64_t spare) {
    const std::int64_t beyond = std::max<std::int64_t>(0, share.disk_layers - spare);
    return beyond == 0 || prefetches ? beyond : share.computed_by_host();
}

std::vector<Time> chain_times(const Nodes& nodes, const Shares& shares, bool prefetches) {
    std::vector<Time> times;
    Time round;
    for (const ChainShare& share : shares) {
        times.push_back(alone_time(nodes[share.node], share, shares.size() > 1));
        round = bounded_sum(round, times.back());
    }
    std::size_t latest = 0;
    Time exposed;
    for (std::size_t i = 0; i < shares.size(); ++i) {
        const ChainNode& node = nodes[shares[i].node];
        const std::int64_t read = layers_from_disk(shares[i], prefetches, node.spare_layers);
        Time reading = read == 0 ? Time{} : bounded_product(node.disk_layer, read);
        if (!prefetches) {
            Time computing = bounded_product(node.host_layer, read);
            if (read > 0 && shares[i].output && !shares[i].output_on_device) {
                reading = bounded_sum(reading, node.read_output);
                computing = bounded_sum(computing, node.host_output);
            }
            times[i] = bounded_sum(times[i], std::max(Time{}, reading - computing));
        } else if (const Time busy = bounded_sum(times[i], reading);
                   busy > round && busy - round > exposed) {
            exposed = busy - round;
            latest = i;
        }
    }
    if (exposed > Time{}) {
        times[latest] = bounded_sum(times[latest], exposed);
    }
    return times;
}

Time chain_time(const Nodes& nodes, const Shares& shares, bool prefetches) {
    Time sum;
    for (const Time time : chain_times(nodes, shares, prefetches)) {
        sum = bounded_sum(sum, time);
    }
    return sum;
}

Shares chain_shares(LayerChain kind, const Nodes& nodes, std::int64_t layers) {
    if (nodes.empty()) {
        return {};
    }
    switch (kind) {
        case LayerChain::one_node:
            return one_node_shares(nodes, layers);
        case LayerChain::even:
            return even_shares(nodes, layers);
        case LayerChain::full_ring:
            return full_ring_shares(nodes, layers);
        default:
            return ring_shares(nodes, layers);
    }
}

}  // namespace orrery
