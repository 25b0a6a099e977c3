// SPDX-License-Identifier: Apache-2.0
// Which commands read which keys of a scenario. One file may serve several commands, so a file may
// hold a section that a command does not read. A change by --set that the command does not read
// would have no effect, and is an error. Faults have a table of their own (fault_use.h).
#pragma once

#include <string_view>

#include "engine/base/result.h"

namespace orrery {

// The error, without its place, of a change of the key at `path` ("campaign.repair.time") that
// `command` does not read. `what` is empty if the command reads it, or a key below it.
Error unread_key(std::string_view command, std::string_view path);

}  // namespace orrery
