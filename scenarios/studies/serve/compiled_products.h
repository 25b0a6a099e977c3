// SPDX-License-Identifier: Apache-2.0
// Kernels that an engine compiles at first use: DeepGEMM makes a kernel for each shape of a weight
// and each tiling, and the tiling follows from the number of rows.
#pragma once

#include <cstdint>
#include <span>

#include "engine/serving/serving_pool.h"
#include "models/serving/serving_step.h"

namespace orrery {

// DeepGEMM's tiling of a product in FP8 with scales of blocks on `sms` SMs (TensorRT-LLM,
// cpp/include/tensorrt_llm/deep_gemm/jit_utils.cuh: get_best_gemm_config): the fewest waves of
// tiles, then the fullest last wave.
struct ProductTiling {
    std::int64_t tile_rows = 0;
    std::int64_t tile_columns = 0;
    std::int64_t stages = 0;
    std::int64_t multicast = 1;
    bool operator==(const ProductTiling&) const = default;
};
ProductTiling product_tiling(std::int64_t rows,
                             std::int64_t columns,
                             std::int64_t depth,
                             std::int64_t sms);

// Adds the kernels of a step's products in FP8 with scales of blocks, but for those of experts: the
// few rows of an expert leave their tiling as it is.
void add_product_kernels(std::span<const ServingOp> ops,
                         std::int64_t sms,
                         CompiledKernels& compiled);

}  // namespace orrery
