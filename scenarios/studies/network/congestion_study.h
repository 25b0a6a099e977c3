// SPDX-License-Identifier: Apache-2.0
// Measures congestion-control factors (network/congestion_factors.h): three patterns at two sizes,
// as packets and as max-min fair shares of the same flows on the same paths. From the times f1, f2
// (fair shares) and p1, p2 (packets) of the last flow, efficiency = (f2 - f1) / (p2 - p1) and
// queueing delay = p1 - f1 / efficiency, at least zero. Both sides count headers alike, so that
// only queues, marks, windows and losses make the difference.
#pragma once

#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

struct CongestionRequest {
    Bytes small{2 << 20};  // of each message; for an all_to_all of all messages of a NIC together
    Bytes large{16 << 20};
    std::uint32_t ranks = 0;  // the number of ranks, from the first; 0: all
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

// For one pattern. If a difference is not finite or not positive, the efficiency is one.
CongestionFactor fitted_factor(const CongestionRow& row);

// A catalogue entry (scenarios/format/read/read_congestion.cpp).
std::string congestion_entry(const CongestionStudy& study);

}  // namespace orrery
