// SPDX-License-Identifier: Apache-2.0
// The pre-flight checks of `orrery diagnose` on a modelled cluster with its scenario's faults: a
// fixed kernel on every GPU, loopback through every NIC, NIC to NIC of the next node (the same
// rail), all-to-all inside each node, all-reduce with the next node. Faults from the start and
// faults in the middle of the step are present all the time. The time of a test follows from the
// links on its path. A result far from the median is suspect. Trays of an NVLink domain are nodes,
// except in the last two tests, which use the whole domains.
#pragma once

#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/campaign/fault_classes.h"

namespace orrery {

struct ModelledCheck {
    std::string test;  // "NIC to NIC of the next node"
    std::string unit;  // "GB/s", "s"
    double median = 0;
    double worst = 0;
    std::string worst_at;      // "node 3 nic 2 to node 4 nic 2"
    std::uint32_t failed = 0;  // no path, or no answer
    std::uint32_t count = 0;
};

struct ModelledChecks {
    std::vector<FaultClass> faults;  // classes of the cluster that the checks see
    std::vector<ModelledCheck> tests;
    std::vector<std::string> suspects;  // "node 3 nic 2: 0.50 of the median, in 4 of 4 tests"
};

Result<ModelledChecks> modelled_checks(const Scenario& scenario);

}  // namespace orrery
