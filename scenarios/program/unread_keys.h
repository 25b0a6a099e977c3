// SPDX-License-Identifier: Apache-2.0
// A change by --set that a command does not read.
#pragma once

#include "scenarios/program/command.h"

namespace orrery {

// Such a change is then an error of the command, before it runs (format/read/key_use.h).
void check_overrides_first(Command& command);

}  // namespace orrery
