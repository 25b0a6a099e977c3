// SPDX-License-Identifier: Apache-2.0
// Reads a scenario for commands that take every kind: a step, several jobs, a served load, or only
// a network.
#pragma once

#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

// A file that has a cluster but no model, plan or jobs describes only a network.
ResultOrErrors<Scenario> read_any_scenario(const std::string& file,
                                           const std::vector<std::string>& overrides);

// A scenario of any other kind is an error that names its kind.
ResultOrErrors<Scenario> read_served_load(const std::string& file,
                                          const std::vector<std::string>& overrides);

// Whether the file has the section `serving`.
bool is_served_load(const std::string& file);

// Whether the scenario has only a network, and so no step to simulate.
bool is_network_alone(const Scenario& scenario);

}  // namespace orrery
