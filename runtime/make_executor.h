// SPDX-License-Identifier: Apache-2.0
// The executor for a device that was asked for.
#pragma once

#include <memory>

#include "engine/result.h"
#include "runtime/executor.h"
#include "runtime/training_job.h"

namespace orrery {

// `automatic` must have been decided. An error if there is no such device here, or it can't run
// the Program.
Result<std::unique_ptr<Executor>> make_executor(DeviceChoice device,
                                                const Program& program,
                                                RankId rank,
                                                Transport* transport);

}  // namespace orrery
