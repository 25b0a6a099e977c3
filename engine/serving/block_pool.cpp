// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/block_pool.h"

#include <bit>

#include "engine/base/check.h"

namespace orrery {

BlockPool::BlockPool(std::int64_t num_blocks)
    : blocks_(static_cast<std::size_t>(num_blocks) + 1), queue_(std::bit_ceil(2 * blocks_.size())) {
    ORRERY_CHECK(num_blocks >= 0);
    for (std::size_t block = 1; block < blocks_.size(); ++block) {
        append(static_cast<KvBlock>(block));
    }
}

void BlockPool::unlink(KvBlock block) {
    blocks_[block].place = kInUse;
    --num_free_;
}

void BlockPool::append(KvBlock block) {
    if (tail_ - head_ == queue_.size()) {
        close_gaps();
    }
    queue_[tail_ & (queue_.size() - 1)] = block;
    blocks_[block].place = tail_++;
    ++num_free_;
}

// At least half of the entries of a full queue are void, so that this happens rarely.
void BlockPool::close_gaps() {
    std::uint64_t end = head_;
    for (std::uint64_t place = head_; place != tail_; ++place) {
        const KvBlock block = queue_[place & (queue_.size() - 1)];
        if (blocks_[block].place == place) {
            queue_[end & (queue_.size() - 1)] = block;
            blocks_[block].place = end++;
        }
    }
    tail_ = end;
}

std::int64_t BlockPool::cached_prefix(std::span<const std::uint64_t> hashes) const {
    std::int64_t found = 0;
    for (const std::uint64_t hash : hashes) {
        if (!by_hash_.contains(hash)) {
            break;
        }
        ++found;
    }
    return found;
}

std::int64_t BlockPool::unused_among(std::span<const std::uint64_t> hashes) const {
    std::int64_t unused = 0;
    for (const std::uint64_t hash : hashes) {
        const auto found = by_hash_.find(hash);
        unused += found != by_hash_.end() && blocks_[found->second].users == 0 ? 1 : 0;
    }
    return unused;
}

void BlockPool::share(std::span<const std::uint64_t> hashes, std::vector<KvBlock>& blocks) {
    for (const std::uint64_t hash : hashes) {
        const auto found = by_hash_.find(hash);
        ORRERY_CHECK(found != by_hash_.end());
        if (blocks_[found->second].users++ == 0) {
            unlink(found->second);
        }
        blocks.push_back(found->second);
    }
}

void BlockPool::take(std::int64_t count, std::vector<KvBlock>& blocks) {
    ORRERY_CHECK(count <= num_free_);
    for (std::int64_t i = 0; i < count; ++i) {
        KvBlock block = 0;
        do {
            block = queue_[head_ & (queue_.size() - 1)];
        } while (blocks_[block].place != head_++);
        unlink(block);
        Block& taken = blocks_[block];
        if (taken.findable) {
            by_hash_.erase(taken.hash);
            taken.findable = false;
            if (below_.tiers != nullptr) {
                below_.tiers->put(below_.host, taken.hash);
            }
        }
        taken.users = 1;
        blocks.push_back(block);
    }
}

void BlockPool::publish(KvBlock block, std::uint64_t hash) {
    Block& full = blocks_[block];
    ORRERY_CHECK(full.users > 0);
    if (!full.findable && by_hash_.emplace(hash, block).second) {
        full.findable = true;
        full.hash = hash;
    }
}

void BlockPool::release(std::vector<KvBlock>& blocks) {
    while (!blocks.empty()) {
        const KvBlock block = blocks.back();
        blocks.pop_back();
        ORRERY_CHECK(blocks_[block].users > 0);
        if (--blocks_[block].users == 0) {
            append(block);
        }
    }
}

}  // namespace orrery
