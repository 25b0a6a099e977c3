// SPDX-License-Identifier: Apache-2.0
// The reason why an execution makes no progress. The search follows the waits from the first stuck
// op, until it meets an op again (a cycle) or an op that waits on an event that cannot happen.
#pragma once

#include "engine/base/result.h"
#include "engine/world/execution.h"

namespace orrery {

// Names the ops that wait on each other. Call it after a failed Execution::run_to_next_end().
Error describe_deadlock(const Execution& execution);

}  // namespace orrery
