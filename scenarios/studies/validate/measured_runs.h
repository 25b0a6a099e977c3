// SPDX-License-Identifier: Apache-2.0
// Tables of a user's own runs. Columns: `scenario` (a file, relative to the table's folder),
// `measured_s` (seconds per step), optionally `set` (keys with other values,
// "plan.micro_batch_size=2", separated by semicolons) and `family` (default: the scenario's name).
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

// Whether the first line of the file is the header of such a table.
bool is_run_table(const std::string& file);
// Errors of the table and of all its scenarios.
ResultOrErrors<std::vector<MeasuredRun>> read_measured_runs(const std::string& file);

}  // namespace orrery
