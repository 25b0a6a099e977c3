// SPDX-License-Identifier: Apache-2.0
// Kernels in which a serving engine differs from the efficiency curves and from the general list of
// kernels of a step.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "models/serving/serving_step.h"

namespace orrery {

// Kernels of an engine that are slower than the curves: the share of the memory bandwidth that they
// reach, or 0. The two of experts apply to weights that are not unpacked.
struct EngineKernels {
    double expert_weights = 0;  // products of experts that are bound by their bytes
    double expert_rows = 0;     // around these products
    double scaled_casts = 0;    // casts of other products' operands with block scales (FP8, FP4)
};
// Whose kernels, on which generation of devices, with products in how many bits.
struct EngineKernelKey {
    std::string_view engine;
    std::string_view generation;
    std::int64_t bits = 16;
};
// Reads the rows of a key from a table like catalogue/engine_kernels.csv. A row without a
// generation holds on all devices.
Result<EngineKernels> read_engine_kernels(const std::string& file, const EngineKernelKey& key);

// Engines with joins_attention call one kernel for a step's prompts and its generating sequences
// (models/serving/cached_attention.h): both ops become one.
void join_attention(std::vector<ServingOp>& ops);

}  // namespace orrery
