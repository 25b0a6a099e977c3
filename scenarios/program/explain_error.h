// SPDX-License-Identifier: Apache-2.0
// `orrery explain-error CASE`: compares prediction and measurement of one published case. It shows
// the parts of the predicted step, and the unstated inputs that would change it most.
#pragma once

#include <string>

#include "scenarios/program/views.h"

namespace orrery {

struct ExplainErrorArguments : ViewArguments {
    std::string name;  // of the case
    std::string file;  // table of cases; empty: the catalogue's
};

// Returns the exit status.
int explain_error_command(const ExplainErrorArguments& arguments);

}  // namespace orrery
