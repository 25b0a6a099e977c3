// SPDX-License-Identifier: Apache-2.0
// After a loss in the middle of a step (engine/world/step_events.h): which operations wait for
// ever, which ranks wait in them, and which never arrived.
#pragma once

#include <optional>

#include "engine/world/execution.h"

namespace orrery {

// After a failed Execution::run_to_next_end(); nothing if nothing was lost.
std::optional<Hang> describe_hang(const Execution& execution);

}  // namespace orrery
