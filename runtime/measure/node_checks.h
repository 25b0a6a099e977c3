// SPDX-License-Identifier: Apache-2.0
// Pre-flight checks of a job's processes and of the connections between them, before a training or
// when one hangs or is slow, as in MegaScale (NSDI 2024, section 4.3: loopback, pairs, all-to-all
// inside a node, all-reduce with neighbours). All pairs are measured in the rounds of a tournament,
// so that each rank talks to one other at a time. A rank is judged relative to the others; the
// speed of a healthy rank need not be known.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "runtime/communication/transport.h"

namespace orrery {

// Results of all ranks; 0 if not measured.
struct NodeChecks {
    std::uint32_t num_ranks = 0;
    std::vector<double> compute_s;     // time of a fixed piece of work
    std::vector<double> memory_rate;   // bytes/s of a copy inside the process
    std::vector<double> pair_rate;     // bytes/s in both directions at once: [a * num_ranks + b]
    std::vector<double> neighbours_s;  // all-reduce with the next rank
    double all_to_all_s = 0;           // by all ranks together
};

struct NodeCheckOptions {
    std::int64_t bytes = 1 << 20;  // of a message
    int repeats = 5;               // at least this number; the best one counts
    // Called after each piece of work with its duration, so that a drill can prolong it.
    std::function<void(std::chrono::microseconds)> after_work{};
};

// All ranks call it together, and all get the result.
Result<NodeChecks> check_nodes(Transport& transport, const NodeCheckOptions& options = {});

struct Suspect {
    std::uint32_t rank = 0;
    std::string what;  // "its connections: 0.21 of the median bandwidth"
};

struct SuspectLimits {
    double compute = 1.5;    // at most this multiple of the median
    double bandwidth = 0.5;  // at least this fraction of the median
};
// The ranks that are far from the median; fewer than half of the ranks may be sick.
std::vector<Suspect> suspects(const NodeChecks& checks, const SuspectLimits& limits = {});

}  // namespace orrery
