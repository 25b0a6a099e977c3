// SPDX-License-Identifier: Apache-2.0
// `orrery import log`: logs of trainings, as a table of measured steps.
#pragma once

#include "scenarios/program/import.h"

namespace orrery {

// Returns the exit status.
int import_log_command(const ImportArguments& arguments);

}  // namespace orrery
