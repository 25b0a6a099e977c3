// SPDX-License-Identifier: Apache-2.0
// What could be changed about a scenario, one step at a time: a size of the plan halved or doubled,
// a switch turned, a part of the cluster twice as fast. Whether a change is admitted, fits and
// helps is for a simulation to say.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/format/specs/scenario.h"

namespace orrery {

enum class ChangeKind : std::uint8_t {
    plan,   // costs nothing but another start
    batch,  // trains something else
    hardware,
};

struct Change {
    ChangeKind kind = ChangeKind::plan;
    std::string words;                   // "tensor_model_parallel_size 8 -> 4"
    std::vector<std::string> overrides;  // as --set takes them
};

std::vector<Change> possible_changes(const Scenario& scenario);

}  // namespace orrery
