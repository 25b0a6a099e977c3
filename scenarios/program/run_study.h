// SPDX-License-Identifier: Apache-2.0
// What every command with an answer does around its study. It opens the files of the views before
// the work, shows a progress bar, reports errors with their place, and shows the answer.
#pragma once

#include <functional>
#include <string>

#include "engine/base/result.h"
#include "scenarios/program/show_output.h"

namespace orrery {

// The work itself; it calls `progress` with the share that is done.
using RunnableStudy =
    std::function<ResultOrErrors<StudyOutput>(const std::function<void(double)>& progress)>;

// `source`: the place of errors that have none, the scenario's file. `label`: of the progress bar,
// "simulating". Returns the exit status.
int run_study(const ViewArguments& views,
              const std::string& source,
              const std::string& label,
              const RunnableStudy& study);

// Errors without a place are of `source`.
Errors placed(Errors errors, const std::string& source);

}  // namespace orrery
