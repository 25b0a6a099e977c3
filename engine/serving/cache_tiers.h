// SPDX-License-Identifier: Apache-2.0
// Keys and values of prompts below the caches of instances: in the memory and on the disks of their
// servers, or in the memories of all servers as one pool (Qin et al., Mooncake, FAST 2025). A block
// goes down a tier where it makes room for another, and is lost below the last tier. A block that
// is loaded keeps its place below, and is copied into the tiers that it passes.
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

// Which block makes room.
enum class EvictionPolicy : std::uint8_t {
    lru,   // used longest ago
    fifo,  // stored longest ago
    lfu,   // used least often since it was stored; of equals the one used longest ago
};

// Blocks of one memory, by hash.
class BlockStore {
public:
    struct Stored {
        std::uint64_t hash = 0;
        std::uint32_t home = 0;  // the host in whose memory it lies
    };
    // A capacity of 0 stores nothing: each block makes room for itself.
    BlockStore(std::int64_t capacity, EvictionPolicy policy);

    std::int64_t size() const { return static_cast<std::int64_t>(blocks_.size()); }
    std::int64_t capacity() const { return capacity_; }
    bool contains(std::uint64_t hash) const { return blocks_.contains(hash); }
    std::uint32_t home(std::uint64_t hash) const { return blocks_.at(hash).home; }
    // A block that it contains is used.
    void touch(std::uint64_t hash);
    // A block that it does not contain; returns the one that made room.
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
    std::set<Rank> order_;  // the first one makes room
    std::uint64_t clock_ = 0;
};

enum class TierKind : std::uint8_t {
    dram,    // of the instance's server
    nvme,    // of the instance's server
    remote,  // of all servers, as one pool
};

constexpr std::string_view name(TierKind kind) {
    return kind == TierKind::dram ? "dram" : kind == TierKind::nvme ? "nvme" : "remote";
}

struct CacheTier {
    TierKind kind = TierKind::dram;
    std::int64_t blocks = 0;  // of a server; of the pool: of all servers together
    EvictionPolicy eviction = EvictionPolicy::lru;
};

// When blocks are written below.
enum class TierWrites : std::uint8_t {
    evicted,   // when an instance's cache hands out their place anew
    computed,  // when the step that computes their last token has ended
};

// How a sequence waits for what it loads.
enum class TierLoading : std::uint8_t {
    layer_wise,  // its step waits for each layer's blocks when it comes to the layer
    ahead,       // it begins when all have come; other sequences run meanwhile
};

// Blocks of a prompt that come from a tier.
struct CacheLoad {
    TierKind kind = TierKind::dram;
    std::size_t host = 0;  // where they lie
    std::int64_t blocks = 0;
    bool operator==(const CacheLoad&) const = default;
};

struct TierTotals {
    std::int64_t written = 0;  // blocks that came, from above
    std::int64_t loaded = 0;   // blocks of prompts that were found here first
    std::int64_t left = 0;     // made room
    std::int64_t present = 0;
    std::int64_t most = 0;     // present at once
};

class CacheTiers {
public:
    // The upper tier first. Hosts are servers with memories of their own.
    CacheTiers(const std::vector<CacheTier>& tiers,
               TierWrites writes,
               TierLoading loading,
               std::size_t hosts);

    bool contains(std::size_t host, std::uint64_t hash) const;
    void put(std::size_t host, std::uint64_t hash);
    // Blocks that it contains are copied to an instance of the host. Returns where they lay, runs
    // of one place as one; of several places of a block the uppermost one.
    std::vector<CacheLoad> load(std::size_t host, std::span<const std::uint64_t> hashes);

    TierWrites writes() const { return writes_; }
    TierLoading loading() const { return loading_; }
    std::size_t size() const { return tiers_.size(); }
    // In blocks: of a host, or of the pool.
    std::int64_t capacity(std::size_t tier) const { return tiers_[tier].stores.front().capacity(); }
    // Over all hosts. `most` is of the fullest one.
    TierTotals totals(std::size_t tier) const;

private:
    struct Tier {
        TierKind kind = TierKind::dram;
        std::vector<BlockStore> stores;  // of the hosts, or one of all
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

// The tiers as the instances of a host see them; none without tiers.
struct TierView {
    CacheTiers* tiers = nullptr;
    std::size_t host = 0;
    bool contains(std::uint64_t hash) const {
        return tiers != nullptr && tiers->contains(host, hash);
    }
};

}  // namespace orrery
