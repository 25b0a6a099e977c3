// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/cache_tiers.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/base/counter_random.h"
#include "tests/engine/serving/block_hits.h"

namespace orrery {
namespace {

// By hand, two blocks. LRU holds {1 2} {1 3} {1 2} {2 3}; FIFO loses 1 to the first 3; LFU keeps 1,
// which was used three times.
TEST(CacheTiers, EvictionsOfAHandTrace) {
    const Trace trace{{1, 2}, {1, 3}, {1, 2}, {3}, {1}};
    EXPECT_EQ(hits_of(trace, 2, EvictionPolicy::lru), 2);
    EXPECT_EQ(hits_of(trace, 2, EvictionPolicy::fifo), 1);
    EXPECT_EQ(hits_of(trace, 2, EvictionPolicy::lfu), 3);
    for (const auto policy : {EvictionPolicy::lru, EvictionPolicy::fifo, EvictionPolicy::lfu}) {
        EXPECT_EQ(hits_of(trace, 3, policy), 5);  // all but the first uses
        EXPECT_EQ(hits_of(trace, 0, policy), 0);
    }
}

// A list of blocks with what is known of them, in which the next victim is looked for.
TEST(CacheTiers, EvictionsAgreeWithASearch) {
    struct Known {
        std::uint64_t hash = 0;
        int uses = 0;
        int used = 0;
        int stored = 0;
    };
    for (const auto policy : {EvictionPolicy::lru, EvictionPolicy::fifo, EvictionPolicy::lfu}) {
        BlockStore store(9, policy);
        std::vector<Known> known;
        CounterRandom random(4, 0, 1);
        for (int now = 1; now < 4000; ++now) {
            const std::uint64_t hash = random.next() % 6 * (1 + random.next() % 4);
            const auto there = std::ranges::find(known, hash, &Known::hash);
            ASSERT_EQ(store.contains(hash), there != known.end());
            if (there != known.end()) {
                store.touch(hash);
                ++there->uses;
                there->used = now;
                continue;
            }
            const auto gone = store.insert({.hash = hash});
            ASSERT_EQ(gone.has_value(), known.size() == 9);
            if (gone) {
                const auto least = std::ranges::min_element(known, {}, [&](const Known& one) {
                    return policy == EvictionPolicy::lru    ? std::pair{0, one.used}
                           : policy == EvictionPolicy::fifo ? std::pair{0, one.stored}
                                                            : std::pair{one.uses, one.used};
                });
                ASSERT_EQ(gone->hash, least->hash);
                known.erase(least);
            }
            known.push_back({.hash = hash, .uses = 1, .used = now, .stored = now});
        }
    }
}

TEST(CacheTiers, WhatMakesRoomGoesDownATierAndComesBackThroughAll) {
    CacheTiers tiers({{.kind = TierKind::dram, .blocks = 1}, {.kind = TierKind::nvme, .blocks = 2}},
                     TierWrites::evicted,
                     TierLoading::ahead,
                     2);
    for (const std::uint64_t hash : {7, 8, 9, 10}) {
        tiers.put(0, hash);
    }
    EXPECT_FALSE(tiers.contains(0, 7));  // below the last tier
    EXPECT_TRUE(tiers.contains(0, 8) && tiers.contains(0, 9) && tiers.contains(0, 10));
    EXPECT_FALSE(tiers.contains(1, 10));  // another server
    const std::vector<std::uint64_t> wanted{10, 9, 8};
    EXPECT_EQ(tiers.load(0, wanted),
              (std::vector<CacheLoad>{{.kind = TierKind::dram, .host = 0, .blocks = 1},
                                      {.kind = TierKind::nvme, .host = 0, .blocks = 2}}));
    // 9 and 8 passed the memory: 8 has stayed in it.
    const std::vector<std::uint64_t> last{8};
    EXPECT_EQ(tiers.load(0, last).front().kind, TierKind::dram);
}

TEST(CacheTiers, APoolOfAllServersKnowsWhereABlockLies) {
    CacheTiers tiers({{.kind = TierKind::remote, .blocks = 4}},
                     TierWrites::computed,
                     TierLoading::layer_wise,
                     3);
    tiers.put(2, 5);
    tiers.put(0, 6);
    tiers.put(1, 5);  // is there already
    const std::vector<std::uint64_t> wanted{5, 6};
    EXPECT_EQ(tiers.load(1, wanted),
              (std::vector<CacheLoad>{{.kind = TierKind::remote, .host = 2, .blocks = 1},
                                      {.kind = TierKind::remote, .host = 0, .blocks = 1}}));
    EXPECT_EQ(tiers.totals(0).written, 2);
    EXPECT_EQ(tiers.totals(0).loaded, 2);
}

// Blocks that came to a tier are there or have left it; those that left one came to the next, or
// were there.
TEST(CacheTiers, NoBlockIsLostOnTheWay) {
    CacheTiers tiers({{.kind = TierKind::dram, .blocks = 5, .eviction = EvictionPolicy::lfu},
                      {.kind = TierKind::nvme, .blocks = 11},
                      {.kind = TierKind::remote, .blocks = 17, .eviction = EvictionPolicy::fifo}},
                     TierWrites::evicted,
                     TierLoading::ahead,
                     2);
    CounterRandom random(9, 0, 1);
    for (int i = 0; i < 20'000; ++i) {
        const std::size_t host = random.next() % 2;
        const std::vector<std::uint64_t> hash{random.next() % 12 * (random.next() % 6)};
        if (tiers.contains(host, hash[0])) {
            tiers.load(host, hash);
        } else {
            tiers.put(host, hash[0]);
        }
        for (std::size_t tier = 0; tier < 3; ++tier) {
            const TierTotals totals = tiers.totals(tier);
            ASSERT_EQ(totals.written - totals.left, totals.present);
            ASSERT_LE(totals.present, tier == 0 ? 10 : tier == 1 ? 22 : 17);
            ASSERT_GE(tier == 0 ? totals.left : tiers.totals(tier - 1).left,
                      tier == 0 ? 0 : totals.written);
        }
    }
    for (std::size_t tier = 0; tier < 3; ++tier) {
        EXPECT_GT(tiers.totals(tier).loaded, 100);
    }
}

}  // namespace
}  // namespace orrery
