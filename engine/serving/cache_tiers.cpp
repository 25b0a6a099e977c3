// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/cache_tiers.h"

#include <algorithm>

#include "engine/base/check.h"

namespace orrery {

BlockStore::BlockStore(std::int64_t capacity, EvictionPolicy policy)
    : capacity_(capacity), policy_(policy) {
    ORRERY_CHECK(capacity >= 0);
}

BlockStore::Rank BlockStore::rank_of(std::uint64_t hash, const Block& block) const {
    return {policy_ == EvictionPolicy::lfu ? block.uses : 0, block.time, hash};
}

void BlockStore::touch(std::uint64_t hash) {
    Block& block = blocks_.at(hash);
    if (policy_ == EvictionPolicy::fifo) {
        return;
    }
    order_.erase(rank_of(hash, block));
    ++block.uses;
    block.time = ++clock_;
    order_.insert(rank_of(hash, block));
}

std::optional<BlockStore::Stored> BlockStore::insert(const Stored& stored) {
    ORRERY_CHECK(!contains(stored.hash));
    if (capacity_ == 0) {
        return stored;
    }
    std::optional<Stored> gone;
    if (size() == capacity_) {
        const std::uint64_t hash = std::get<2>(*order_.begin());
        gone = Stored{.hash = hash, .home = home(hash)};
        order_.erase(order_.begin());
        blocks_.erase(hash);
    }
    const Block block{.uses = 1, .time = ++clock_, .home = stored.home};
    blocks_.emplace(stored.hash, block);
    order_.insert(rank_of(stored.hash, block));
    return gone;
}

CacheTiers::CacheTiers(const std::vector<CacheTier>& tiers,
                       TierWrites writes,
                       TierLoading loading,
                       std::size_t hosts)
    : writes_(writes), loading_(loading) {
    ORRERY_CHECK(!tiers.empty() && hosts > 0);
    for (const CacheTier& tier : tiers) {
        const bool shared = tier.kind == TierKind::remote;
        tiers_.push_back({.kind = tier.kind,
                          .stores = std::vector<BlockStore>(
                              shared ? 1 : hosts, BlockStore(tier.blocks, tier.eviction)),
                          .totals = {}});
    }
}

bool CacheTiers::contains(std::size_t host, std::uint64_t hash) const {
    return std::ranges::any_of(tiers_, [&](const Tier& tier) {
        return tier.stores[store_of(tier, host)].contains(hash);
    });
}

// A block evicted from a tier continues to the next one.
void CacheTiers::put(std::size_t host, std::uint64_t hash) {
    std::optional<BlockStore::Stored> coming =
        BlockStore::Stored{.hash = hash, .home = static_cast<std::uint32_t>(host)};
    for (Tier& tier : tiers_) {
        BlockStore& store = tier.stores[store_of(tier, coming->home)];
        if (store.contains(coming->hash)) {
            store.touch(coming->hash);
            return;
        }
        ++tier.totals.written;
        coming = store.insert(*coming);
        tier.totals.most = std::max(tier.totals.most, store.size());
        if (!coming) {
            return;
        }
        ++tier.totals.left;
    }
}

CacheTiers::Tier& CacheTiers::holder_of(std::size_t host, std::uint64_t hash) {
    const auto tier = std::ranges::find_if(tiers_, [&](const Tier& one) {
        return one.stores[store_of(one, host)].contains(hash);
    });
    ORRERY_CHECK(tier != tiers_.end());
    return *tier;
}

std::vector<CacheLoad> CacheTiers::load(std::size_t host, std::span<const std::uint64_t> hashes) {
    std::vector<CacheLoad> loads;
    std::vector<std::uint64_t> from_below;
    for (const std::uint64_t hash : hashes) {
        Tier& tier = holder_of(host, hash);
        BlockStore& store = tier.stores[store_of(tier, host)];
        const std::size_t home = tier.kind == TierKind::remote ? store.home(hash) : host;
        store.touch(hash);
        ++tier.totals.loaded;
        if (&tier != &tiers_.front()) {
            from_below.push_back(hash);
        }
        if (loads.empty() || loads.back().kind != tier.kind || loads.back().host != home) {
            loads.push_back({.kind = tier.kind, .host = home, .blocks = 0});
        }
        ++loads.back().blocks;
    }
    // Only after the lookup, because the evictions may move others of these blocks down.
    for (const std::uint64_t hash : from_below) {
        put(host, hash);
    }
    return loads;
}

TierTotals CacheTiers::totals(std::size_t tier) const {
    TierTotals totals = tiers_[tier].totals;
    for (const BlockStore& store : tiers_[tier].stores) {
        totals.present += store.size();
    }
    return totals;
}

}  // namespace orrery
