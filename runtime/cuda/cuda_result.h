// SPDX-License-Identifier: Apache-2.0
// Errors of CUDA's runtime as values.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "engine/base/result.h"

namespace orrery {

inline Result<void> cuda_result(cudaError_t error, const std::string& what) {
    return error == cudaSuccess
               ? Result<void>{}
               : fail("",
                      what + ": " + cudaGetErrorString(error),
                      error == cudaErrorMemoryAllocation ? "a smaller batch, or more GPUs" : "");
}

}  // namespace orrery
