// SPDX-License-Identifier: Apache-2.0
// A recorded fault trace: a table with the columns time_s, node, fault, duration_s and kind
// (hardware, software or other), ordered by time. `fault` is `class/description`. A class of the
// taxonomy becomes its kind; others become a host fault or a software bug by `kind`.
#pragma once

#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/faults/fault_process.h"

namespace orrery {

struct FaultTrace {
    std::vector<FaultEvent> events;
    std::uint32_t nodes = 0;  // the largest number plus one
};

ResultOrErrors<FaultTrace> read_fault_trace(const std::string& file);
// `name` is the table's name in errors.
ResultOrErrors<FaultTrace> parse_fault_trace(const std::string& table, const std::string& name);

// Number of down nodes over time. A node counts once while any of its faults is open.
struct DownNodes {
    double mean = 0;
    std::uint32_t p50 = 0;
    std::uint32_t p90 = 0;
    std::uint32_t p99 = 0;
    std::uint32_t p999 = 0;
    std::uint32_t most = 0;
};
DownNodes nodes_down(const std::vector<FaultEvent>& events, WallTime length);

}  // namespace orrery
