// SPDX-License-Identifier: Apache-2.0
// From a scenario to its answer: lowers the plan to a Program, builds the fabric, costs the
// kernels, runs the simulated executor, and explains the result.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/world/simulation.h"
#include "kernels/efficiency_table.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/simulate/answer.h"

namespace orrery {

struct SimulationOptions {
    bool fold = true;
    // Factors of step_efficiency.h; empty: the catalogue's
    std::optional<EfficiencyTable> step_table;
    std::string profile_file;  // measured times (kernels/profile.h); empty: none
    // A plan that does not fit is not simulated: its answer has the memory and no iteration.
    bool only_if_fits = false;
    // Called with the result, which has every rank's ops, and with the host time in each op's time.
    std::function<void(const SimulationResult&, Time host_per_op)> inspect;
    // Called with the Program and the ops of one rank of each role and of the slowest rank, ordered
    // by (rank, start), on their streams on a GPU. An error ends the simulation.
    std::function<Result<void>(const Program&, const std::vector<TracedOp>&)> trace;
    // Called with the result, without ops.
    std::function<void(const SimulationResult&)> look;
    // What-if: this cause costs nothing. Kernels run at peak (or take no time if their work is not
    // useful), communication takes no time but still waits, links are never shared …
    std::optional<Cause> without;
    // Called from time to time with the finished share of the work, 0 … 1.
    std::function<void(double)> progress;
};

Result<Answer> simulate_scenario(const Scenario& scenario, const SimulationOptions& options = {});

}  // namespace orrery
