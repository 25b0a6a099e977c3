// SPDX-License-Identifier: Apache-2.0
// The blocks of an instance's key-value cache, paged (Kwon et al., PagedAttention, SOSP 2023), with
// vLLM's prefix cache. A full block with a known hash stays findable after its last user left,
// until it is reused. Blocks without users are reused in the order in which they became free. A
// request frees its last block first, so that tails of prompts are reused before heads
// (vllm/v1/core/block_pool.py). Every operation takes constant time per block.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/serving/cache_tiers.h"

namespace orrery {

using KvBlock = std::uint32_t;

class BlockPool {
public:
    explicit BlockPool(std::int64_t num_blocks);
    // Sets the tiers that receive findable blocks when they are reused.
    void evict_to(const TierView& below) { below_ = below; }

    std::int64_t num_blocks() const { return static_cast<std::int64_t>(blocks_.size()) - 1; }
    // The number of blocks without users, including findable ones.
    std::int64_t num_free() const { return num_free_; }

    bool contains(std::uint64_t hash) const { return by_hash_.contains(hash); }
    // The number of leading hashes that are findable.
    std::int64_t cached_prefix(std::span<const std::uint64_t> hashes) const;
    // The number of findable blocks of these hashes without users. Sharing them reduces num_free()
    // by this number.
    std::int64_t unused_among(std::span<const std::uint64_t> hashes) const;
    // Adds a user to the findable block of each hash, and appends the blocks. All hashes must be
    // findable.
    void share(std::span<const std::uint64_t> hashes, std::vector<KvBlock>& blocks);
    // Appends `count` blocks, at most num_free(), each with one user.
    void take(std::int64_t count, std::vector<KvBlock>& blocks);
    // Gives a block with a user its hash. If another block has the hash, that one stays the
    // findable one.
    void publish(KvBlock block, std::uint64_t hash);
    // Removes a user from each block, the last block first, and clears the list.
    void release(std::vector<KvBlock>& blocks);

private:
    static constexpr std::uint64_t kInUse = ~std::uint64_t{0};
    struct Block {
        std::uint64_t place = kInUse;  // position in the queue of free blocks
        std::uint64_t hash = 0;
        std::uint32_t users = 0;
        bool findable = false;
    };
    // Removes a block from the middle of the queue; its entry becomes void.
    void unlink(KvBlock block);
    void append(KvBlock block);
    void close_gaps();

    // Blocks 1 … num_blocks; block 0 is never used.
    std::vector<Block> blocks_;
    // Free blocks in the order in which they became free, with void entries: positions head_ to
    // tail_ of a ring whose size is a power of two. The queue is contiguous, while blocks are
    // scattered in memory.
    std::vector<KvBlock> queue_;
    std::uint64_t head_ = 0;
    std::uint64_t tail_ = 0;
    std::unordered_map<std::uint64_t, KvBlock> by_hash_;
    std::int64_t num_free_ = 0;
    TierView below_;
};

}  // namespace orrery
