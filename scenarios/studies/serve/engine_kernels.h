// SPDX-License-Identifier: Apache-2.0
// Kernels by which a serving engine differs from the curves and the list of kernels of a step.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "models/serving/serving_step.h"

namespace orrery {

// Kernels of an engine that are slower than the curves by which others are priced: shares of the
// memory bandwidth that they reach, or 0. Those of experts are for weights that are not unpacked.
struct EngineKernels {
    double expert_weights = 0;  // products of experts that their bytes bind
    double expert_rows = 0;     // around these products
    double scaled_casts = 0;    // operands of other products get scales of blocks (FP8, FP4)
};
// The rows of an engine's products in `bits` bits in a table like catalogue/engine_kernels.csv.
Result<EngineKernels> read_engine_kernels(const std::string& file,
                                          std::string_view engine,
                                          std::int64_t bits);

// vLLM v1 calls one attention kernel for the prompts of a step and the sequences that generate
// (models/serving/cached_attention.h): both ops become one.
void join_attention(std::vector<ServingOp>& ops);

}  // namespace orrery
