// SPDX-License-Identifier: Apache-2.0
// The decoder of an instance of one rank, for a device that was asked for.
#pragma once

#include <memory>

#include "engine/base/result.h"
#include "runtime/serve/decode_step.h"
#include "runtime/serve/served_model.h"
#include "runtime/training_job.h"

namespace orrery {

// On a CPU weights, activations and the cache are fp32; on a GPU bf16. `device` is cpu or cuda; an
// error if there is no such device here, or it does not serve the model. The model must have passed
// load_served_model().
Result<std::unique_ptr<DecodeStep>> make_decode_step(DeviceChoice device,
                                                     const ServedModel& served,
                                                     const CacheShape& cache,
                                                     const StepLimits& limits);

}  // namespace orrery
