// SPDX-License-Identifier: Apache-2.0
// The classes of a scenario's faults for reports, with the components that each can strike, their
// number, and the expected number of faults.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/format/specs/fault_use.h"

namespace orrery {

struct Scenario;

struct FaultClass {
    std::string name;
    FaultKind kind = FaultKind::node_crash;
    FaultForm form = FaultForm::process;
    std::string components;        // "1,024 GPUs", "node:3/gpu:1"
    std::uint32_t population = 1;  // of these
    std::string when;              // "one every 2.03 d", "after 3.0 d", "from the start on"
    double expected = 0;           // faults in the campaign's length
    bool stops = false;            // whether the faults stop the job
    bool from_new = false;         // its components age, and all are new at the start
    bool operator==(const FaultClass&) const = default;
};

std::vector<FaultClass> fault_classes(const Scenario& scenario);

}  // namespace orrery
