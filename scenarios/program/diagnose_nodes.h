// SPDX-License-Identifier: Apache-2.0
// `orrery diagnose --nproc N`: the pre-flight checks between real processes on this machine.
#pragma once

#include "scenarios/program/diagnose.h"

namespace orrery {

// The same command line, once more for each process. Returns the exit status.
int start_node_checks(const DiagnoseArguments& arguments);

// As one of several ranks: rank 0 shows what was found.
int check_as_rank(const DiagnoseArguments& arguments);

}  // namespace orrery
