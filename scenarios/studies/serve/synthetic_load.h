// SPDX-License-Identifier: Apache-2.0
// The requests of a workload: recorded ones, or drawn ones.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/result.h"
#include "engine/serving/request.h"
#include "scenarios/format/read/length_table.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/format/specs/serving_spec.h"

namespace orrery {

// `block_size` is that of the caches whose blocks requests may share; 0: requests share nothing.
ResultOrErrors<std::vector<Request>> requests_of(const WorkloadSpec& workload,
                                                 std::int64_t block_size = 0);
// The load of a scenario, with the blocks of its first pool.
ResultOrErrors<std::vector<Request>> requests_of(const Scenario& scenario);
// `table` is the table workload.lengths, or null.
std::vector<Request> synthetic_requests(const WorkloadSpec& workload,
                                        const LengthTable* table = nullptr,
                                        std::int64_t block_size = 0);

}  // namespace orrery
