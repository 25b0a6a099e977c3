// SPDX-License-Identifier: Apache-2.0
// Published times of block-scaled and grouped products and of whole layers of experts (the columns
// of catalogue/published/layers_moe.csv) beside those of the cost model and the network, with one
// catalogue for all rows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/studies/validate/timed_rows.h"

namespace orrery {

struct LayerCase {
    std::string name;
    std::string family;
    std::string gpu;
    std::string kernel;  // gemm_fp8_block, grouped_gemm_fp8_block, moe_layer
    std::string pass;    // forward, backward, forward+backward+step
    std::string dtype;
    std::int64_t m = 0;       // rows of all groups, or tokens per GPU
    std::int64_t n = 0;       // columns, or the width of an expert
    std::int64_t k = 0;       // inner dimension, or the hidden size
    std::int64_t groups = 1;  // per GPU
    std::int64_t experts = 1;
    std::int64_t topk = 1;
    std::int64_t expert_parallel = 1;
    std::string dispatcher;  // empty or none: all experts are on the GPU
    double time_us = 0;
    std::string where;
};

// Whether the first line of the file is the header of a table of layers with experts.
bool is_layer_table(const std::string& file);
ResultOrErrors<std::vector<LayerCase>> read_layer_cases(const std::string& file);
Result<TimedValidation> validate_layers(const std::vector<LayerCase>& cases,
                                        const std::filesystem::path& catalogue);

}  // namespace orrery
