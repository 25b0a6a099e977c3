// SPDX-License-Identifier: Apache-2.0
// `orrery simulate` of one job: its step, and the step for other tools.
#pragma once

#include <functional>

#include "engine/result.h"
#include "scenarios/program/show_output.h"
#include "scenarios/program/simulated_case.h"

namespace orrery {

// Whether the step can be written as Chakra traces, where that is asked for.
Result<void> check_chakra(const SimulateArguments& arguments, const Scenario& scenario);

ResultOrErrors<StudyOutput> step_output(const SimulateArguments& arguments,
                                        const SimulatedCase& simulated,
                                        const std::function<void(double)>& progress);

}  // namespace orrery
