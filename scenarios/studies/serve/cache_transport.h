// SPDX-License-Identifier: Apache-2.0
// Keys and values on their way over the cluster's fabric, where they share links with each other
// (max-min, network/fluid.h). Each GPU that generates pulls the heads and layers that it needs from
// the GPUs that computed them; two instances may cut the model differently.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "engine/network_model.h"
#include "engine/result.h"
#include "engine/serving/serving_run.h"
#include "engine/step_events.h"
#include "models/serving_plan.h"
#include "network/nccl_network.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

// A pool's instances, one after the other on the cluster's GPUs.
struct PlacedPool {
    ServingPlan plan;
    std::int64_t first_rank = 0;
    std::int64_t ranks_of_instance() const { return plan.num_ranks(); }
};

// What one rank pulls from another, in bytes of each token: the layers and heads that both have.
// Ranks that share a head take it from the first rank that has it. Ranks are of the first
// data-parallel replica of an instance.
struct CachePiece {
    std::int64_t from = 0;  // ranks within their instances
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

    void start(Time now,
               RequestId request,
               std::size_t from,
               std::size_t to,
               std::int64_t tokens) override;
    Time next_end() const override;
    void pop_ended(Time now, std::vector<RequestId>& ended) override;
    void cancel(Time now, RequestId request) override;

    const Fabric& fabric() const { return network_.fabric(); }
    // Capacities of links that change, ascending in time; before the first start().
    void change_links(std::vector<CapacityChange> changes);

    // From the start of a transfer to its end, over all that have ended.
    Time total() const { return total_; }
    std::int64_t ended() const { return ended_; }
    Bytes moved() const { return moved_; }

private:
    FabricTransport(const Scenario& cluster,
                    Fabric fabric,
                    const Transformer& model,
                    const PlacedPool& prompts,
                    const PlacedPool& generation);

    struct Transfer {
        RequestId request{};
        Time began;
        std::size_t open = 0;  // flows that have not ended
    };
    struct Start {
        std::size_t transfer = 0;
        TransferPart part;
    };
    void change_capacities(Time now);
    FootprintId footprint_of(const std::vector<LinkShare>& links);

    PlacedPool prompts_;
    PlacedPool generation_;
    std::vector<CachePiece> pieces_;
    NcclNetwork network_;
    std::unique_ptr<SharedRates> rates_;
    std::vector<std::pair<std::vector<LinkShare>, FootprintId>> footprints_;
    std::vector<Transfer> transfers_;
    std::vector<std::size_t> unused_;            // of transfers_
    std::multimap<Time, Start> starts_;          // after their latency
    std::map<FlowId, std::size_t> transfer_of_;  // of flows under way
    std::vector<FlowId> popped_;
    std::vector<CapacityChange> changes_;
    std::size_t next_change_ = 0;
    Time total_;
    std::int64_t ended_ = 0;
    Bytes moved_;
};

}  // namespace orrery
