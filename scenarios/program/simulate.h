// SPDX-License-Identifier: Apache-2.0
// `orrery simulate FILE`: reads a scenario, simulates it, and prints the answer. With `--from` the
// scenario is that of an earlier answer in JSON.
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
    std::string result_file;  // repeat this result, in place of `file`
    std::vector<std::string> overrides;
    bool fold = true;
    std::string chakra_folder;
    std::string profile_file;      // measured kernel times
    std::string calibration_file;  // facts that measured steps told
};

// Returns the exit status.
int simulate_command(const SimulateArguments& arguments);

// What `orrery simulate` simulates: a scenario file, or the scenario of an earlier result.
struct SimulatedCase {
    Scenario scenario;
    std::string source;  // the place of errors that have none
    bool fold = true;
};

ResultOrErrors<SimulatedCase> simulated_case(const SimulateArguments& arguments);

// Of a result of the case, with the options that decided it.
Provenance provenance_of(const SimulateArguments& arguments, const SimulatedCase& simulated);

// `orrery simulate` of one job: its step, and the step for other tools.
// Whether the step can be written as Chakra traces, where that is asked for.
Result<void> check_chakra(const SimulateArguments& arguments, const Scenario& scenario);

ResultOrErrors<StudyOutput> step_output(const SimulateArguments& arguments,
                                        const SimulatedCase& simulated,
                                        const std::function<void(double)>& progress);

}  // namespace orrery
