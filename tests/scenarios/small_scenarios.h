// SPDX-License-Identifier: Apache-2.0
// Scenarios that are simulated in milliseconds and together use every kind of parallelism, of
// sharding and of overlap.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "scenarios/format/specs/scenario.h"

namespace orrery {

// Two servers of four GPUs, a small GPT. Settings are overrides:
// "plan.tensor_model_parallel_size=2".
Scenario small_scenario(const std::string& name, const std::vector<std::string>& settings);

struct SmallScenario {
    std::string name;
    std::vector<std::string> settings;
};

// One for each feature, and some that combine them.
const std::vector<SmallScenario>& named_small_scenarios();
const std::vector<Scenario>& small_scenarios();

// The scenario's name as GoogleTest takes it: letters, digits and underscores.
std::string test_name(const SmallScenario& scenario);

// What a failing test prints instead of the bytes.
void PrintTo(const SmallScenario& scenario, std::ostream* out);

}  // namespace orrery
