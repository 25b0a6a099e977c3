// SPDX-License-Identifier: Apache-2.0
// Measures congestion-control factors (network/congestion_factors.h): three patterns at two sizes,
// on packets and at max-min fair shares of the same flows on the same paths. With the times f1, f2
// and p1, p2 of the last flow, efficiency = (f2 - f1) / (p2 - p1), queueing delay = p1 -
// f1 / efficiency, at least zero. Both sides count headers alike: only queues, marks, windows and
// losses are between them.
#pragma once

#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

struct CongestionRequest {
    Bytes small{2 << 20};  // of each message; an all_to_all's of a NIC together
    Bytes large{16 << 20};
    std::uint32_t ranks = 0;  // the first ones; 0: all
};

struct CongestionRow {
    std::string pattern;
    std::size_t messages = 0;
    Time fair_small;
    Time fair_large;
    Time packets_small;
    Time packets_large;
    CongestionFactor factor;
};

struct CongestionStudy {
    CongestionFactors factors;
    std::vector<CongestionRow> rows;  // ring, all_to_all, point_to_point
};

Result<CongestionStudy> measure_congestion(const Scenario& scenario,
                                           const CongestionRequest& request);

// Of one pattern. Not finite or not positive differences: an efficiency of one.
CongestionFactor fitted_factor(const CongestionRow& row);

// A catalogue entry (scenarios/format/read/read_congestion.cpp).
std::string congestion_entry(const CongestionStudy& study);

}  // namespace orrery
