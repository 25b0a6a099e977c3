// SPDX-License-Identifier: Apache-2.0
// `orrery fit CASES.csv -o FILE` and `orrery fit --kernels -o FILE`: fit the catalogue's tables
// (scenarios/studies/fit/fit_study.h) and show how well they predict.
#pragma once

#include "scenarios/program/views.h"
#include "scenarios/studies/fit/fit_study.h"

namespace orrery {

struct FitArguments : ViewArguments {
    FitSpec spec;
};

// Returns the exit status.
int fit_command(const FitArguments& arguments);

}  // namespace orrery
