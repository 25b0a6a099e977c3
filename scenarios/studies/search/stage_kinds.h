// SPDX-License-Identifier: Apache-2.0
// The kinds of nodes that the stages of a plan's pipeline are on.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "models/plan/plan.h"
#include "network/fabric/cluster_spec.h"

namespace orrery {

// The kinds of nodes of one stage's ranks, ascending.
using KindsOfStage = std::vector<std::uint32_t>;

class StageKinds {
public:
    StageKinds() = default;  // one kind
    explicit StageKinds(const ClusterSpec& cluster)
        : several_(cluster.num_kinds() > 1), cluster_(several_ ? cluster : ClusterSpec{}) {}

    bool several() const { return several_; }
    // By stage. Results are kept for plans with equal sizes and rank order.
    const std::vector<KindsOfStage>& of(const ParallelPlan& plan);

private:
    using Key = std::tuple<std::int64_t,
                           std::vector<std::int64_t>,
                           std::int64_t,
                           std::int64_t,
                           std::int64_t,
                           RankOrder>;

    bool several_ = false;
    ClusterSpec cluster_{};
    std::map<Key, std::vector<KindsOfStage>> known_;
};

}  // namespace orrery
