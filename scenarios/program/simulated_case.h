// SPDX-License-Identifier: Apache-2.0
// What `orrery simulate` simulates: a scenario file, or the scenario of an earlier result.
#pragma once

#include <string>

#include "engine/result.h"
#include "scenarios/format/provenance/provenance.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/program/simulate.h"

namespace orrery {

struct SimulatedCase {
    Scenario scenario;
    std::string source;  // the place of errors that have none
    bool fold = true;
};

ResultOrErrors<SimulatedCase> simulated_case(const SimulateArguments& arguments);

// Of a result of the case, with the options that decided it.
Provenance provenance_of(const SimulateArguments& arguments, const SimulatedCase& simulated);

}  // namespace orrery
