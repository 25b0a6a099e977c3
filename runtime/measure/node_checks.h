// SPDX-License-Identifier: Apache-2.0
// Pre-flight checks of a job's processes and of the connections between them, before a training or
// when one hangs or is slow: what MegaScale's nodes do (NSDI 2024, section 4.3: loopback, pairs,
// all-to-all inside a node, all-reduce with neighbours). A pair's bandwidth is measured while all
// other pairs are measured too, in the rounds of a tournament, so that each rank talks to one at a
// time. A rank is bad in comparison with the others: how fast a healthy one is need not be known.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "runtime/communication/transport.h"

namespace orrery {

// Of all ranks; a figure that was not measured is 0.
struct NodeChecks {
    std::uint32_t num_ranks = 0;
    std::vector<double> compute_s;     // a fixed piece of work
    std::vector<double> memory_rate;   // bytes/s of a copy inside the process
    std::vector<double> pair_rate;     // bytes/s, both ways at once: [a * num_ranks + b]
    std::vector<double> neighbours_s;  // all-reduce with the next rank
    double all_to_all_s = 0;           // of all ranks
};

struct NodeCheckOptions {
    std::int64_t bytes = 1 << 20;  // of a message
    int repeats = 5;               // at least; the best one counts
    // Called at the end of each piece of work, with what it has taken: a drill makes it longer.
    std::function<void(std::chrono::microseconds)> after_work{};
};

// All ranks call it; all get the result.
Result<NodeChecks> check_nodes(Transport& transport, const NodeCheckOptions& options = {});

struct Suspect {
    std::uint32_t rank = 0;
    std::string what;  // "its connections: 0.21 of the median bandwidth"
};

struct SuspectLimits {
    double compute = 1.5;    // times the median
    double bandwidth = 0.5;  // of the median
};
// The median decides who is healthy: fewer than half of the ranks may be sick.
std::vector<Suspect> suspects(const NodeChecks& checks, const SuspectLimits& limits = {});

}  // namespace orrery
