// SPDX-License-Identifier: Apache-2.0
// `orrery import nccl-tests`: the table of nccl-tests, as a profile.
#pragma once

#include "scenarios/program/import.h"

namespace orrery {

// Returns the exit status.
int import_nccl_tests_command(const ImportArguments& arguments);

}  // namespace orrery
