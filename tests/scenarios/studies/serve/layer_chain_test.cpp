// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/layer_chain.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

using namespace literals;

constexpr bool kPrefetch = true;

// A fast desktop, a laptop and a phone whose layers take ten times as long. Reading a layer takes
// 100 ms.
std::vector<ChainNode> home() {
    return {{.name = "desktop",
             .device_layers = 10,
             .host_layers = 20,
             .device_layer = 1_ms,
             .host_layer = 5_ms,
             .disk_layer = 100_ms,
             .hop = 2_ms,
             .output = 1_ms,
             .host_output = 4_ms,
             .read_output = 30_ms,
             .output_layers = 2},
            {.name = "laptop",
             .device_layers = 6,
             .host_layers = 8,
             .device_layer = 2_ms,
             .host_layer = 6_ms,
             .disk_layer = 100_ms,
             .hop = 2_ms,
             .output = 2_ms,
             .host_output = 5_ms,
             .output_layers = 2},
            {.name = "phone",
             .host_layers = 4,
             .device_layer = 50_ms,
             .host_layer = 50_ms,
             .disk_layer = 200_ms,
             .hop = 2_ms,
             .output = 20_ms,
             .host_output = 20_ms,
             .output_layers = 2}};
}

std::int64_t layers_of(const std::vector<ChainShare>& shares) {
    std::int64_t sum = 0;
    for (const ChainShare& share : shares) {
        sum += share.layers();
    }
    return sum;
}

TEST(LayerChain, ASmallModelStaysOnOneNode) {
    const auto ring = chain_shares(LayerChain::ring, home(), 8);
    ASSERT_EQ(ring.size(), 1U);
    EXPECT_EQ(ring[0].device_layers, 8);  // ten, less the two of the output layer
    EXPECT_TRUE(ring[0].output_on_device);
    EXPECT_EQ(chain_time(home(), ring, kPrefetch), 9_ms);
    EXPECT_EQ(chain_time(home(), chain_shares(LayerChain::one_node, home(), 8), false), 9_ms);
}

TEST(LayerChain, ARingTakesAnotherNodesDeviceBeforeTheHostsMemory) {
    const auto ring = chain_shares(LayerChain::ring, home(), 14);
    ASSERT_EQ(ring.size(), 2U);
    EXPECT_EQ(ring[0].device_layers, 10);
    EXPECT_EQ(ring[1].device_layers, 4);
    // 10 x 1 + 4 x 2, the output layer on the head's host, and two hops.
    EXPECT_TRUE(ring[0].output);
    EXPECT_FALSE(ring[0].output_on_device);
    EXPECT_EQ(chain_time(home(), ring, kPrefetch), 26_ms);
    // Alone, four layers are with the host: 10 x 1 + 4 x 5 + 4.
    EXPECT_EQ(chain_time(home(), chain_shares(LayerChain::one_node, home(), 14), false), 34_ms);
}

TEST(LayerChain, AHopThatCostsMoreThanItSavesIsLeftOut) {
    auto nodes = home();
    nodes[0].hop = nodes[1].hop = 20_ms;
    EXPECT_EQ(chain_shares(LayerChain::ring, nodes, 14).size(), 1U);
}

TEST(LayerChain, APassOverMoreThanThePageCacheHoldsReadsAllOfIt) {
    const auto alone = chain_shares(LayerChain::one_node, home(), 30);
    ASSERT_EQ(alone.size(), 1U);
    EXPECT_EQ(alone[0].host_layers, 18);  // twenty, less the two of the output layer
    EXPECT_EQ(alone[0].disk_layers, 2);
    EXPECT_EQ(layers_from_disk(alone[0], false), 20);
    EXPECT_EQ(layers_from_disk(alone[0], kPrefetch), 2);
    // 10 x 1, and 20 x 100 + 30 of the output layer behind which the host computes.
    EXPECT_EQ(chain_time(home(), alone, false), 2040_ms);
    auto fast_disk = home();
    fast_disk[0].disk_layer = 3_ms;
    fast_disk[0].read_output = 1_ms;
    EXPECT_EQ(chain_time(fast_disk, alone, false), 10_ms + 5_ms * 20 + 4_ms);
    // Two more layers' room in the page cache, and nothing is read.
    auto more = home();
    more[0].spare_layers = 2;
    EXPECT_EQ(chain_time(more, alone, false), 114_ms);
}

TEST(LayerChain, LayersThatThePageCacheKeepsBeyondThePlanAreNotRead) {
    const ChainShare share{
        .node = 0, .device_layers = 0, .host_layers = 20, .disk_layers = 5, .output = false};
    EXPECT_EQ(layers_from_disk(share, kPrefetch, 3), 2);
    EXPECT_EQ(layers_from_disk(share, kPrefetch, 7), 0);
    EXPECT_EQ(layers_from_disk(share, false, 3), 25);
    EXPECT_EQ(layers_from_disk(share, false, 5), 0);
    auto nodes = home();
    const std::vector<ChainShare> alone{share};
    const Time all = chain_time(nodes, alone, kPrefetch);
    nodes[0].spare_layers = 3;
    EXPECT_EQ(all - chain_time(nodes, alone, kPrefetch), 300_ms);
}

TEST(LayerChain, ReadingHidesBehindTheOtherNodes) {
    auto nodes = home();
    nodes.pop_back();  // 42 layers less 2 fit
    const auto fits = chain_shares(LayerChain::ring, nodes, 42);
    const auto over = chain_shares(LayerChain::ring, nodes, 43);
    EXPECT_EQ(layers_of(over), 43);
    // 10 x 1 + 18 x 5, 6 x 2 + 8 x 6, the output layer and two hops; then one more layer of a host,
    // and its reading behind the round.
    EXPECT_EQ(chain_time(nodes, fits, kPrefetch), 168_ms);
    const Time more = chain_time(nodes, over, kPrefetch);
    EXPECT_GT(more, 168_ms);
    EXPECT_LT(more, 168_ms + 100_ms);
    // Without a disk the last layer has no place.
    for (ChainNode& node : nodes) {
        node.disk_layer = Time::max();
    }
    EXPECT_TRUE(chain_shares(LayerChain::ring, nodes, 43).empty());
    EXPECT_TRUE(chain_shares(LayerChain::one_node, nodes, 43).empty());
    EXPECT_TRUE(chain_shares(LayerChain::even, nodes, 100).empty());
    EXPECT_TRUE(chain_shares(LayerChain::ring, {}, 1).empty());
}

// prima.cpp's first version gave each device a layer, however slow.
TEST(LayerChain, AFullRingHasALayerOnEachNode) {
    const auto full = chain_shares(LayerChain::full_ring, home(), 14);
    ASSERT_EQ(full.size(), 3U);
    EXPECT_EQ(full[0].device_layers, 10);
    EXPECT_EQ(full[1].device_layers, 3);
    EXPECT_EQ(full[2].layers(), 1);
    const Time ring = chain_time(home(), chain_shares(LayerChain::ring, home(), 14), kPrefetch);
    // A layer of the phone in place of one of the laptop, and one more hop.
    EXPECT_EQ(chain_time(home(), full, kPrefetch) - ring, 50_ms - 2_ms + 2_ms);
    EXPECT_TRUE(prefetches(LayerChain::full_ring));
    EXPECT_TRUE(chain_shares(LayerChain::full_ring, home(), 2).empty());
}

TEST(LayerChain, EvenSharesIgnoreWhatNodesCan) {
    const auto even = chain_shares(LayerChain::even, home(), 14);
    ASSERT_EQ(even.size(), 3U);
    EXPECT_EQ(even[0].layers(), 5);
    EXPECT_EQ(even[2].layers(), 4);
    const Time ring = chain_time(home(), chain_shares(LayerChain::ring, home(), 14), kPrefetch);
    EXPECT_GT(chain_time(home(), even, false), ring * 4);
}

}  // namespace
}  // namespace orrery
