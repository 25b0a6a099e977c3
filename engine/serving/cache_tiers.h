// SPDX-License-Identifier: Apache-2.0
// Tiers of keys and values below the caches of instances: memory and disks of their servers, or the
// memories of all servers as one pool (Qin et al., Mooncake, FAST 2025). A block evicted from a
// tier moves to the next one, and from the last tier it is lost. A loaded block stays in its tier
// and is copied into the tiers above it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace orrery {

// The block to evict.
enum class EvictionPolicy : std::uint8_t {
    lru,   // least recently used
    fifo,  // first stored
    lfu,   // least often used since it was stored; ties: least recently used
};

// Blocks of one memory, by hash.
class BlockStore {
public:
    struct Stored {
        std::uint64_t hash = 0;
        std::uint32_t home = 0;  // host whose memory has it
    };
    // With capacity 0, insert() returns each block at once.
    BlockStore(std::int64_t capacity, EvictionPolicy policy);

    std::int64_t size() const { return static_cast<std::int64_t>(blocks_.size()); }
    std::int64_t capacity() const { return capacity_; }
    bool contains(std::uint64_t hash) const { return blocks_.contains(hash); }
    std::uint32_t home(std::uint64_t hash) const { return blocks_.at(hash).home; }
    // Records a use of a block that is in the store.
    void touch(std::uint64_t hash);
    // Inserts a block that is not in the store. Returns the evicted block.
    std::optional<Stored> insert(const Stored& stored);

private:
    using Rank = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;  // uses, time, hash
    struct Block {
        std::uint64_t uses = 0;
        std::uint64_t time = 0;
        std::uint32_t home = 0;
    };
    Rank rank_of(std::uint64_t hash, const Block& block) const;

    std::int64_t capacity_;
    EvictionPolicy policy_;
    std::unordered_map<std::uint64_t, Block> blocks_;
    std::set<Rank> order_;  // the first one is evicted next
    std::uint64_t clock_ = 0;
};

enum class TierKind : std::uint8_t {
    dram,    // memory of the instance's server
    nvme,    // drives of the instance's server
    remote,  // memories of all servers, as one pool
};

constexpr std::string_view name(TierKind kind) {
    return kind == TierKind::dram ? "dram" : kind == TierKind::nvme ? "nvme" : "remote";
}

struct CacheTier {
    TierKind kind = TierKind::dram;
    std::int64_t blocks = 0;  // per server; for the pool: over all servers
    EvictionPolicy eviction = EvictionPolicy::lru;
};

// The time at which blocks are written to the tiers.
enum class TierWrites : std::uint8_t {
    evicted,   // when the instance's cache reuses them
    computed,  // when the step that computes their last token has ended
};

// The way a sequence waits for its loads.
enum class TierLoading : std::uint8_t {
    layer_wise,  // its step waits for each layer's blocks at that layer
    ahead,       // it begins when all blocks have arrived; other sequences run meanwhile
};

// Blocks of a prompt that are loaded from one tier of one host.
struct CacheLoad {
    TierKind kind = TierKind::dram;
    std::size_t host = 0;  // the host that has them
    std::int64_t blocks = 0;
    bool operator==(const CacheLoad&) const = default;
};

struct TierTotals {
    std::int64_t written = 0;  // blocks written from above
    std::int64_t loaded = 0;   // blocks of prompts for which this was the uppermost tier
    std::int64_t left = 0;     // evicted blocks
    std::int64_t present = 0;
    std::int64_t most = 0;  // maximum of `present`
};

class CacheTiers {
public:
    // `tiers` from the uppermost down. `hosts` is the number of servers with memories of their own.
    CacheTiers(const std::vector<CacheTier>& tiers,
               TierWrites writes,
               TierLoading loading,
               std::size_t hosts);

    bool contains(std::size_t host, std::uint64_t hash) const;
    void put(std::size_t host, std::uint64_t hash);
    // Copies blocks, which must be present, to an instance of the host. Returns their places,
    // consecutive blocks of one place as one entry. If a block is in several tiers, the uppermost
    // one counts.
    std::vector<CacheLoad> load(std::size_t host, std::span<const std::uint64_t> hashes);

    TierWrites writes() const { return writes_; }
    TierLoading loading() const { return loading_; }
    std::size_t size() const { return tiers_.size(); }
    // In blocks, per host or of the pool.
    std::int64_t capacity(std::size_t tier) const { return tiers_[tier].stores.front().capacity(); }
    // Over all hosts, but `most` is that of the fullest host.
    TierTotals totals(std::size_t tier) const;

private:
    struct Tier {
        TierKind kind = TierKind::dram;
        std::vector<BlockStore> stores;  // one per host, or one for all
        TierTotals totals;
    };
    Tier& holder_of(std::size_t host, std::uint64_t hash);
    static std::size_t store_of(const Tier& tier, std::size_t host) {
        return tier.kind == TierKind::remote ? 0 : host;
    }
    std::vector<Tier> tiers_;
    TierWrites writes_;
    TierLoading loading_;
};

// The tiers as the instances of one host see them; empty without tiers.
struct TierView {
    CacheTiers* tiers = nullptr;
    std::size_t host = 0;
    bool contains(std::uint64_t hash) const {
        return tiers != nullptr && tiers->contains(host, hash);
    }
};

}  // namespace orrery
