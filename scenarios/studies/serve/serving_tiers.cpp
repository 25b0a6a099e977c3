// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/serving_tiers.h"

#include <fmt/format.h>

#include <algorithm>

#include "network/fabric/memory_tiers.h"

namespace orrery {

namespace {

MemoryTier memory_of(TierKind kind) {
    return kind == TierKind::nvme ? MemoryTier::nvme : MemoryTier::dram;
}

Result<void> check_tiers(const Scenario& scenario, const ServingSpec& spec) {
    const NodeSpec& node = scenario.cluster.node;
    Bytes in_memory;
    for (const CacheTierSpec& tier : spec.cache.tiers) {
        if (!has_tier(node, memory_of(tier.kind))) {
            return fail(scenario.cluster_where,
                        fmt::format("serving.cache has a tier {}, and {} says nothing of {}",
                                    name(tier.kind),
                                    node.name,
                                    tier.kind == TierKind::nvme ? "drives" : "host memory"),
                        tier.kind == TierKind::nvme
                            ? "nvme_drives and nvme_read_bandwidth of the node"
                            : "host_memory and host_memory_bandwidth of the node");
        }
        if (tier.kind == TierKind::nvme && tier.capacity == Bytes{}) {
            return fail(scenario.cluster_where,
                        "a tier nvme of serving.cache has no capacity",
                        "{kind: nvme, capacity: 10 TB}");
        }
        if (tier.kind != TierKind::nvme) {
            in_memory += tier.capacity == Bytes{} ? node.host_memory : tier.capacity;
        }
    }
    if (in_memory > node.host_memory) {
        return fail(scenario.cluster_where,
                    fmt::format("the tiers of serving.cache take {:.0f} GB of a server's memory "
                                "of {:.0f} GB",
                                static_cast<double>(in_memory.count()) * 1e-9,
                                static_cast<double>(node.host_memory.count()) * 1e-9),
                    "smaller capacities");
    }
    return {};
}

}  // namespace

std::int64_t tier_blocks(Bytes capacity,
                         const Transformer& model,
                         const PlacedPool& pool,
                         std::int64_t servers) {
    const std::int64_t block = key_value_bytes(model, pool.plan).count() * pool.block_size;
    return capacity.count() / std::max<std::int64_t>(1, block / servers);
}

Result<std::unique_ptr<CacheTiers>> tiers_of(const Scenario& scenario,
                                             const ServingSpec& spec,
                                             const PlacedPool& pool,
                                             const PoolHosts& hosts) {
    if (spec.cache.tiers.empty()) {
        return nullptr;
    }
    if (const auto good = check_tiers(scenario, spec); !good) {
        return tl::unexpected(good.error());
    }
    const std::int64_t per_server = scenario.cluster.gpus_per_server();
    const std::int64_t servers = (pool.ranks_of_instance() + per_server - 1) / per_server;
    const std::int64_t all_servers =
        static_cast<std::int64_t>(scenario.cluster.num_nodes) * scenario.cluster.node.trays;
    std::vector<CacheTier> tiers;
    for (const CacheTierSpec& tier : spec.cache.tiers) {
        const Bytes of_server =
            tier.capacity == Bytes{} ? scenario.cluster.node.host_memory : tier.capacity;
        const bool shared = tier.kind == TierKind::remote;
        tiers.push_back(
            {.kind = tier.kind,
             .blocks = shared ? tier_blocks(of_server * all_servers, scenario.model, pool, 1)
                              : tier_blocks(of_server, scenario.model, pool, servers),
             .eviction = tier.eviction});
    }
    return std::make_unique<CacheTiers>(
        tiers, spec.cache.writes, spec.cache.loading, hosts.first_instance.size());
}

void report_transfers(const FabricTransport& transport, ServingAnswer& answer) {
    if (transport.ended() > 0) {
        answer.transfers = transport.ended();
        answer.transferred = transport.moved();
        answer.transfer_s = transport.total().seconds() / static_cast<double>(transport.ended());
    }
}

void report_tiers(const ServingSpec& spec,
                  const CacheTiers& tiers,
                  const FabricTransport& transport,
                  const ServingResult& served,
                  const std::vector<Request>& requests,
                  ServingAnswer& answer) {
    const std::int64_t tokens = spec.pools.front().limits.block_size;
    for (std::size_t i = 0; i < tiers.size(); ++i) {
        const TierTotals totals = tiers.totals(i);
        answer.tiers.push_back({.kind = spec.cache.tiers[i].kind,
                                .capacity = tiers.capacity(i) * tokens,
                                .most = totals.most * tokens,
                                .written = totals.written * tokens,
                                .loaded = totals.loaded * tokens,
                                .left = totals.left * tokens});
    }
    std::int64_t prompts = 0;
    std::int64_t loaded = 0;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        prompts += requests[i].prompt_tokens;
        loaded += served.records[i].loaded_tokens;
    }
    answer.loaded_share = static_cast<double>(loaded) / static_cast<double>(prompts);
    answer.loads = transport.loads_ended();
    answer.loaded = transport.loaded();
    if (answer.loads > 0) {
        answer.load_s =
            transport.total_of_loads().seconds() / static_cast<double>(answer.loads);
    }
    for (const InstanceTotals& totals : served.instances) {
        answer.exposed_load_s += totals.exposed_loads.seconds();
    }
}

}  // namespace orrery
