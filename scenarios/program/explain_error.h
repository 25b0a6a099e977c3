// SPDX-License-Identifier: Apache-2.0
// `orrery explain-error CASE`: one published case, predicted beside measured: where the predicted
// step goes, and which of the inputs that the source does not state would move it most.
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
