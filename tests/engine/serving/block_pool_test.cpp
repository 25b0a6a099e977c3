// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/block_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>

#include "engine/base/counter_random.h"

namespace orrery {
namespace {

TEST(BlockPool, HandsOutTheBlockThatIsFreeTheLongest) {
    BlockPool pool(4);
    std::vector<KvBlock> one;
    std::vector<KvBlock> other;
    pool.take(2, one);
    pool.take(1, other);
    EXPECT_EQ(one, (std::vector<KvBlock>{1, 2}));
    EXPECT_EQ(other, std::vector<KvBlock>{3});
    pool.release(one);
    EXPECT_EQ(pool.num_free(), 3);
    // Block 4 was never used; then the last block of `one`, then its first.
    pool.take(3, one);
    EXPECT_EQ(one, (std::vector<KvBlock>{4, 2, 1}));
    EXPECT_EQ(pool.num_free(), 0);
}

TEST(BlockPool, AFullBlockIsFoundUntilItIsHandedOutAnew) {
    BlockPool pool(2);
    std::vector<KvBlock> blocks;
    pool.take(2, blocks);
    pool.publish(blocks[0], 100);
    pool.publish(blocks[1], 101);
    const std::vector<std::uint64_t> prefix{100, 101, 102};
    EXPECT_EQ(pool.cached_prefix(prefix), 2);
    EXPECT_EQ(pool.unused_among(prefix), 0);
    pool.release(blocks);
    EXPECT_EQ(pool.cached_prefix(prefix), 2);
    EXPECT_EQ(pool.unused_among(prefix), 2);
    // The tail goes before the head.
    std::vector<KvBlock> other;
    pool.take(1, other);
    EXPECT_EQ(pool.cached_prefix(prefix), 1);
    pool.share(std::span(prefix).first(1), blocks);
    EXPECT_EQ(pool.num_free(), 0);
}

// However often a block leaves the queue of free ones and comes back.
TEST(BlockPool, ABlockThatIsSharedAgainIsHandedOutLast) {
    BlockPool pool{3};
    std::vector<KvBlock> blocks;
    pool.take(2, blocks);
    const std::vector<KvBlock> first = blocks;
    pool.publish(blocks[0], 7);
    pool.release(blocks);
    const std::uint64_t hash = 7;
    for (int i = 0; i < 100; ++i) {
        pool.share(std::span(&hash, 1), blocks);
        EXPECT_EQ(pool.num_free(), 2);
        pool.release(blocks);
        EXPECT_EQ(pool.num_free(), 3);
    }
    pool.take(3, blocks);
    EXPECT_EQ(blocks, (std::vector<KvBlock>{3, first[1], first[0]}));
    EXPECT_FALSE(pool.contains(7));
}

TEST(BlockPool, OfTwoBlocksWithTheSameTokensTheFirstIsFound) {
    BlockPool pool(2);
    std::vector<KvBlock> one;
    std::vector<KvBlock> other;
    pool.take(1, one);
    pool.take(1, other);
    pool.publish(one[0], 5);
    pool.publish(other[0], 5);
    pool.release(other);
    pool.take(1, other);
    EXPECT_EQ(pool.cached_prefix(std::vector<std::uint64_t>{5}), 1);
}

// Requests of one block each, one at a time, make the pool a cache that evicts the least recently
// used block: compared with a list.
TEST(BlockPool, WithoutUsersItIsALeastRecentlyUsedCache) {
    constexpr std::size_t kBlocks = 10;
    BlockPool pool(kBlocks);
    std::list<std::uint64_t> recent;  // the most recent first
    CounterRandom random(3, 0, 1);
    std::int64_t hits = 0;
    for (int i = 0; i < 5000; ++i) {
        const std::vector<std::uint64_t> hash{1 + random.next() % 7 * (random.next() % 5)};
        const auto known = std::find(recent.begin(), recent.end(), hash[0]);
        const bool hit = pool.cached_prefix(hash) == 1;
        ASSERT_EQ(hit, known != recent.end());
        hits += hit ? 1 : 0;
        std::vector<KvBlock> blocks;
        if (hit) {
            pool.share(hash, blocks);
            recent.erase(known);
        } else {
            pool.take(1, blocks);
            pool.publish(blocks[0], hash[0]);
        }
        recent.push_front(hash[0]);
        if (recent.size() > kBlocks) {
            recent.pop_back();
        }
        pool.release(blocks);
    }
    EXPECT_GT(hits, 1000);
    EXPECT_LT(hits, 5000);
}

}  // namespace
}  // namespace orrery
