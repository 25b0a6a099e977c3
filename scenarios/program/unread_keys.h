// SPDX-License-Identifier: Apache-2.0
// The keys of a scenario that commands read, and the error of a change that a command does not
// read.
#pragma once

#include <initializer_list>
#include <vector>

#include "scenarios/format/read/key_use.h"
#include "scenarios/program/command.h"

namespace orrery {

KeyUses joined_uses(std::initializer_list<KeyUses> lists);

// The whole file, for commands that show it.
KeyUses every_key();
KeyUses keys_of_network();
// A simulated step, healthy or with faults.
KeyUses keys_of_step();
// A step with everything that a real run of the job needs.
KeyUses keys_of_training();
// A served load.
KeyUses keys_of_load();

// A change that a command does not read is then an error, before the command runs.
void check_overrides_first(std::vector<Command>& commands);

// The error of a key of a study that the simulated points do not read; `what` is empty if they do.
Error unread_in_study(std::string_view key);

}  // namespace orrery
