// SPDX-License-Identifier: Apache-2.0
// Possible changes of a scenario, one step each: a size of the plan halved or doubled, a switch
// turned, a part of the cluster twice as fast. A simulation decides whether a change is allowed,
// fits and helps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/format/specs/scenario.h"

namespace orrery {

enum class ChangeKind : std::uint8_t {
    plan,   // costs only a restart
    batch,  // changes the training
    hardware,
};

struct Change {
    ChangeKind kind = ChangeKind::plan;
    std::string words;                   // "tensor_model_parallel_size 8 -> 4"
    std::vector<std::string> overrides;  // in the form of --set
};

std::vector<Change> possible_changes(const Scenario& scenario);

}  // namespace orrery
