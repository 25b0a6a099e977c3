// SPDX-License-Identifier: Apache-2.0
// `orrery import megatron`: the command line of Megatron-LM, as a scenario.
#pragma once

#include "scenarios/program/import.h"

namespace orrery {

// Returns the exit status.
int import_megatron_command(const ImportArguments& arguments);

}  // namespace orrery
