// SPDX-License-Identifier: Apache-2.0
// A table of one's own runs: the columns `scenario` (a file, from the table's folder), `measured_s`
// (seconds of a step), and, if wanted, `set` (keys with other values, "plan.micro_batch_size=2",
// separated by semicolons) and `family` (else the scenario's name).
#pragma once

#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

struct MeasuredRun {
    std::string name;  // "mine.yaml plan.micro_batch_size=2"
    std::string family;
    Scenario scenario;
    double measured_s = 0;
};

// Whether the file's first line is that of such a table.
bool is_run_table(const std::string& file);
// Errors: those of the table and of all scenarios that it names.
ResultOrErrors<std::vector<MeasuredRun>> read_measured_runs(const std::string& file);

}  // namespace orrery
