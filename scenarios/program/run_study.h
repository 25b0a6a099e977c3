// SPDX-License-Identifier: Apache-2.0
// The steps around the study of every command. They open the files of the views before the work,
// show a progress bar, report errors with their place, and show the answer.
#pragma once

#include <functional>
#include <string>

#include "engine/base/result.h"
#include "scenarios/program/show_output.h"

namespace orrery {

// The work itself. It calls `progress` with the finished share, 0 … 1.
using RunnableStudy =
    std::function<ResultOrErrors<StudyOutput>(const std::function<void(double)>& progress)>;

// `source` is the place of errors without a place: the scenario's file. `label` names the progress
// bar, for example "simulating". Returns the exit status.
int run_study(const ViewArguments& views,
              const std::string& source,
              const std::string& label,
              const RunnableStudy& study);

// The errors, with `source` as the place of errors without one.
Errors placed(Errors errors, const std::string& source);

}  // namespace orrery
