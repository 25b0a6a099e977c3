// SPDX-License-Identifier: Apache-2.0
// Why an execution can make no progress. Follows the waits from the first op that cannot go on,
// until an op shows up again (the cycle) or one waits on something that will never happen.
#pragma once

#include "engine/base/result.h"
#include "engine/world/execution.h"

namespace orrery {

// Names the ops that wait on each other. After a failed Execution::run_to_next_end().
Error describe_deadlock(const Execution& execution);

}  // namespace orrery
