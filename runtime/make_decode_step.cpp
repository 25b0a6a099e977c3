// SPDX-License-Identifier: Apache-2.0
#include "runtime/make_decode_step.h"

#include "runtime/cuda/cuda_module.h"
#include "runtime/serve/paged_decoder.h"

namespace orrery {

Result<std::unique_ptr<DecodeStep>> make_decode_step(DeviceChoice device,
                                                     const ServedModel& served,
                                                     const CacheShape& cache,
                                                     const StepLimits& limits) {
    ORRERY_CHECK(device != DeviceChoice::automatic);
    if (device == DeviceChoice::cpu) {
        return std::make_unique<PagedDecoder>(served, cache);
    }
    const auto& module = cuda_module();
    if (!module) {
        return unexpected<Error>(module.error());
    }
    Result<std::unique_ptr<DecodeStep>> step;
    module->make_decode_step(served, cache, limits, step);
    return step;
}

}  // namespace orrery
