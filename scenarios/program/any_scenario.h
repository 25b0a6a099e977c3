// SPDX-License-Identifier: Apache-2.0
// Reads a scenario for commands that take every kind: of a step, of several jobs, of a served load,
// or of a network alone.
#pragma once

#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

// A file with a cluster and neither a model, a plan nor jobs is a network alone.
ResultOrErrors<Scenario> read_any_scenario(const std::string& file,
                                           const std::vector<std::string>& overrides);

// A scenario of another kind is an error that names the kind.
ResultOrErrors<Scenario> read_served_load(const std::string& file,
                                          const std::vector<std::string>& overrides);

// Whether the file has the section `serving`.
bool is_served_load(const std::string& file);

// Whether there is no step to simulate.
bool is_network_alone(const Scenario& scenario);

}  // namespace orrery
