// SPDX-License-Identifier: Apache-2.0
// `orrery simulate FILE`: reads a scenario, simulates it, and prints the answer. With `--from` the
// scenario is that of an earlier result in JSON.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/provenance/provenance.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/program/show_output.h"
#include "scenarios/program/views.h"

namespace orrery {

struct SimulateArguments : ViewArguments {
    std::string file;
    std::string result_file;  // repeats this result instead of reading `file`
    std::vector<std::string> overrides;
    bool fold = true;
    std::string chakra_folder;
    std::string profile_file;      // measured kernel times
    std::string calibration_file;  // written by `orrery validate --calibrate-with`; empty: none
};

// Returns the exit status.
int simulate_command(const SimulateArguments& arguments);

// The input of `orrery simulate`: a scenario file, or the scenario of an earlier result.
struct SimulatedCase {
    Scenario scenario;
    std::string source;  // the place of errors without a place
    bool fold = true;
};

ResultOrErrors<SimulatedCase> simulated_case(const SimulateArguments& arguments);

// The provenance of the case's result, with the options that determine it.
Provenance provenance_of(const SimulateArguments& arguments, const SimulatedCase& simulated);

// For a scenario with one job. check_chakra() returns an error if Chakra traces are requested but
// the step cannot be written as such. step_output() simulates the step and writes it for other
// tools.
Result<void> check_chakra(const SimulateArguments& arguments, const Scenario& scenario);

ResultOrErrors<StudyOutput> step_output(const SimulateArguments& arguments,
                                        const SimulatedCase& simulated,
                                        const std::function<void(double)>& progress);

}  // namespace orrery
