// SPDX-License-Identifier: Apache-2.0
// `orrery compare RUN`: a recorded run beside its prediction, part by part.
#pragma once

#include <string>

#include "scenarios/program/views.h"

namespace orrery {

struct CompareArguments : ViewArguments {
    std::string run;           // folder
    std::string profile_file;  // measured times to predict with; empty: none
};

// Returns the exit status.
int compare_command(const CompareArguments& arguments);

}  // namespace orrery
