// SPDX-License-Identifier: Apache-2.0
// The report of a loss in the middle of a step (engine/world/step_events.h): the operations that
// never end, the ranks that wait in them, and the ranks that never arrived.
#pragma once

#include <optional>

#include "engine/world/execution.h"

namespace orrery {

// Call it after a failed Execution::run_to_next_end(). No value if no device or link was lost.
std::optional<Hang> describe_hang(const Execution& execution);

}  // namespace orrery
