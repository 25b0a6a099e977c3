// SPDX-License-Identifier: Apache-2.0
// Finds ranks that compute longer than others: kernel times of every rank over those of the median
// rank of its role, in the order of nodes. The times are those of a simulated step or of a recorded
// run; there a rank's time is the mean of its best half of steps. If all devices of a node are
// slow, the host is the cause. (MegaScale, NSDI 2024, section 5.1, finds its slow hosts in this
// way; no test of single GPUs shows them.)
#pragma once

#include <string>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/measure/recorded_run.h"

namespace orrery {

struct HeatMap {
    std::string title;
    std::uint32_t ranks_per_node = 1;
    std::vector<double> times_s;      // by place: node by node
    std::vector<double> relative;     // to the median of the role
    std::vector<std::string> slow{};  // "node 3: 1.10 times its peers (all 8 ranks)"
};

// `times_s` and `role` by rank; `place` of a rank: node * ranks_per_node + device (empty: its own
// number).
HeatMap heat_map(std::string title,
                 const std::vector<double>& times_s,
                 const std::vector<std::uint32_t>& role,
                 const std::vector<std::uint32_t>& place,
                 std::uint32_t ranks_per_node);

Result<HeatMap> heat_map_of(const Scenario& scenario);  // for its simulated step
HeatMap heat_map_of(const RecordedRun& run);

}  // namespace orrery
