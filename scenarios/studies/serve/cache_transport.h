// SPDX-License-Identifier: Apache-2.0
// Transfers of keys and values over the cluster's fabric, where they share links (max-min,
// network/fluid/fluid.h). Each generating GPU pulls its heads and layers from the GPUs that
// computed them. The two instances may have different plans.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "engine/base/result.h"
#include "engine/program/network_model.h"
#include "engine/serving/serving_run.h"
#include "engine/world/step_events.h"
#include "models/serving/serving_plan.h"
#include "network/nccl_network.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

// A pool's instances, which occupy consecutive GPUs of the cluster.
struct PlacedPool {
    ServingPlan plan;
    std::int64_t first_rank = 0;
    std::int64_t block_size = 16;  // tokens
    std::int64_t ranks_of_instance() const { return plan.num_ranks(); }
};

// The servers of a pool's instances, numbered in the order of their first instances. All instances
// of a server share the tiers below their caches. An instance that spans servers has the number of
// its first server.
struct PoolHosts {
    std::vector<std::size_t> of_instance;
    std::vector<std::size_t> first_instance;  // by host
};
PoolHosts hosts_of(const PlacedPool& pool, std::int64_t instances, std::int64_t gpus_per_server);

// The bytes of each token that one rank pulls from another: the layers and heads that both hold. If
// several ranks share a head, it comes from the first rank that holds it. Ranks are those of the
// first data-parallel replica of an instance.
struct CachePiece {
    std::int64_t from = 0;  // indices of ranks within their instances
    std::int64_t to = 0;
    std::int64_t bytes = 0;
    bool operator==(const CachePiece&) const = default;
};
std::vector<CachePiece> cache_pieces(const Transformer& model,
                                     const ServingPlan& from,
                                     const ServingPlan& to);

class FabricTransport : public CacheTransport {
public:
    // An Error if the fabric cannot be built.
    static Result<std::unique_ptr<FabricTransport>> make(const Scenario& cluster,
                                                         const Transformer& model,
                                                         const PlacedPool& prompts,
                                                         const PlacedPool& generation);

    // Without a call there are no hosts, and no tiers below the caches.
    void use(PoolHosts hosts) { hosts_ = std::move(hosts); }
    void load(Time now, const SequenceLoad& load, std::size_t to) override;
    // The time for one token of a prompt without other transfers. If the tier is a pool of all
    // servers and there is another server, the token comes from that server's memory.
    Time load_of_token(TierKind kind) const;
    void start(Time now,
               RequestId request,
               std::size_t from,
               std::size_t to,
               const CachePart& part) override;
    Time next_end() const override;
    void pop_ended(Time now, std::vector<RequestId>& ended) override;
    void cancel(Time now, RequestId request) override;

    const Fabric& fabric() const { return network_.fabric(); }
    // Capacities of links that change, ascending in time. Must be called before the first start().
    void change_links(std::vector<CapacityChange> changes);

    // The sum over all ended transfers of the time from start to end. The parts of one prompt count
    // as one.
    Time total() const { return total_; }
    std::int64_t ended() const { return ended_; }
    Bytes moved() const { return moved_; }
    // The same for loads from tiers.
    Time total_of_loads() const { return loads_total_; }
    std::int64_t loads_ended() const { return loads_ended_; }
    Bytes loaded() const { return loaded_; }

private:
    FabricTransport(const Scenario& cluster,
                    Fabric fabric,
                    const Transformer& model,
                    const PlacedPool& prompts,
                    const PlacedPool& generation);

    struct Transfer {
        RequestId request{};
        Time began;
        std::size_t open = 0;  // number of flows that have not ended
        bool is_load = false;
        bool is_first = true;  // whether it is the first part of its prompt
    };
    struct Start {
        std::size_t transfer = 0;
        TransferPart part;
    };
    std::size_t begin_transfer(Time now, RequestId request);
    void add(Time now, std::size_t transfer, const TransferPhase& phase);
    void change_capacities(Time now);
    FootprintId footprint_of(const std::vector<LinkShare>& links);

    PlacedPool prompts_;
    PlacedPool generation_;
    Transformer model_;
    PoolHosts hosts_;
    std::vector<CachePiece> pieces_;
    NcclNetwork network_;
    std::unique_ptr<SharedRates> rates_;
    std::vector<std::pair<std::vector<LinkShare>, FootprintId>> footprints_;
    std::vector<Transfer> transfers_;
    std::vector<std::size_t> unused_;            // free indices of transfers_
    std::multimap<Time, Start> starts_;          // waiting for the end of their latency
    std::map<FlowId, std::size_t> transfer_of_;  // of flows in progress
    std::vector<FlowId> popped_;
    std::vector<CapacityChange> changes_;
    std::size_t next_change_ = 0;
    Time total_;
    std::int64_t ended_ = 0;
    Bytes moved_;
    Time loads_total_;
    std::int64_t loads_ended_ = 0;
    Bytes loaded_;
};

}  // namespace orrery
