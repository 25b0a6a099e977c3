// SPDX-License-Identifier: Apache-2.0
// The library of the CUDA kernels and their executor (liborrery_cuda.so), loaded at the first use
// of a GPU. The program builds and starts without it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "engine/program/program.h"
#include "runtime/communication/transport.h"
#include "runtime/cuda/devices.h"
#include "runtime/executor.h"
#include "runtime/serve/decode_step.h"
#include "runtime/serve/served_model.h"

namespace orrery {

// The functions of the module. Each sets its last argument: runtime/cuda/module_entry.cpp.
struct CudaModule {
    void (*devices)(Result<std::vector<CudaDeviceInfo>>& devices) = nullptr;
    void (*versions)(std::string& versions) = nullptr;
    void (*make_executor)(const Program& program,
                          RankId rank,
                          Transport* transport,
                          Result<std::unique_ptr<Executor>>& executor) = nullptr;
    void (*make_decode_step)(const ServedModel& served,
                             const CacheShape& cache,
                             const StepLimits& limits,
                             Result<std::unique_ptr<DecodeStep>>& step) = nullptr;
};

// Loads the module at the first call. The error has the reason if it is missing.
const Result<CudaModule>& cuda_module();

}  // namespace orrery
