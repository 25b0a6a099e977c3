// SPDX-License-Identifier: Apache-2.0
// The blocks of an instance's key-value cache, paged (Kwon et al., PagedAttention, SOSP 2023), with
// vLLM's prefix cache: a full block whose hash is known stays findable after its last user left,
// until it is handed out anew. Blocks without a user are handed out in the order in which they
// became free, and a request frees its last block first, so that tails of prompts go before heads
// (vllm/v1/core/block_pool.py). Every operation takes constant time a block.
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
    // Findable blocks go there when they are handed out anew.
    void evict_to(const TierView& below) { below_ = below; }

    std::int64_t num_blocks() const { return static_cast<std::int64_t>(blocks_.size()) - 1; }
    // Blocks without a user, findable ones among them.
    std::int64_t num_free() const { return num_free_; }

    bool contains(std::uint64_t hash) const { return by_hash_.contains(hash); }
    // How many of the leading hashes are findable.
    std::int64_t cached_prefix(std::span<const std::uint64_t> hashes) const;
    // How many of the findable blocks of these hashes have no user: sharing them makes that many
    // fewer free.
    std::int64_t unused_among(std::span<const std::uint64_t> hashes) const;
    // Appends the findable blocks of all these hashes, each with one more user.
    void share(std::span<const std::uint64_t> hashes, std::vector<KvBlock>& blocks);
    // Appends `count` blocks, at most num_free(), each with one user.
    void take(std::int64_t count, std::vector<KvBlock>& blocks);
    // The contents of a block that has a user are those of this hash. Another block may have it
    // already: that one stays the findable one.
    void publish(KvBlock block, std::uint64_t hash);
    // Takes a user from each block, the last block first, and empties the list.
    void release(std::vector<KvBlock>& blocks);

private:
    static constexpr std::uint64_t kInUse = ~std::uint64_t{0};
    struct Block {
        std::uint64_t place = kInUse;  // in the queue of free blocks
        std::uint64_t hash = 0;
        std::uint32_t users = 0;
        bool findable = false;
    };
    // Leaves the queue from its middle: its entry there is void.
    void unlink(KvBlock block);
    void append(KvBlock block);
    void close_gaps();

    // Blocks 1 … num_blocks; block 0 is never handed out.
    std::vector<Block> blocks_;
    // Free blocks in the order in which they became free, and void entries: places `head_` up to
    // `tail_` of a ring whose size is a power of two. Blocks lie anywhere in memory, a queue's
    // entries side by side.
    std::vector<KvBlock> queue_;
    std::uint64_t head_ = 0;
    std::uint64_t tail_ = 0;
    std::unordered_map<std::uint64_t, KvBlock> by_hash_;
    std::int64_t num_free_ = 0;
    TierView below_;
};

}  // namespace orrery
