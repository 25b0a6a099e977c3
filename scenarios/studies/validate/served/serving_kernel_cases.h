// SPDX-License-Identifier: Apache-2.0
// Published times of kernels of inference steps: products, attention over a cache, layers of
// experts, latent attention with its projections, and small all-reduces. Columns: case, family,
// gpu, kernel, variant, dtype, kv_dtype, m, n, k, batch, seq, kv_len, heads, kv_heads, head_dim,
// num_experts, topk, moe_tp, ep, distribution, num_gpus, size_bytes, time_us.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/studies/validate/timed_rows.h"

namespace orrery {

struct ServingKernelCase {
    std::string name;
    std::string family;
    std::string gpu;
    std::string kernel;  // gemm, decode_attention, prefill_attention, moe, mla_decode, all_reduce
    std::string variant;
    std::string dtype;
    std::string cache_dtype;
    std::string distribution;  // of tokens over experts
    std::int64_t m = 0;        // rows, or tokens before routing
    std::int64_t n = 0;        // columns, or the width of an expert
    std::int64_t k = 0;        // inner dimension, or the hidden size
    std::int64_t batch = 1;
    std::int64_t seq = 1;      // new tokens per sequence
    std::int64_t context = 0;  // tokens that a new token sees
    std::int64_t heads = 1;
    std::int64_t kv_heads = 1;
    std::int64_t head_dim = 1;
    std::int64_t experts = 1;
    std::int64_t topk = 1;
    std::int64_t expert_tensor = 1;
    std::int64_t expert_parallel = 1;
    std::int64_t gpus = 1;
    std::int64_t bytes = 0;
    double time_us = 0;
    std::string where;
};

bool is_serving_kernel_table(const std::string& file);
ResultOrErrors<std::vector<ServingKernelCase>> read_serving_kernel_cases(const std::string& file);
Result<TimedValidation> validate_serving_kernels(const std::vector<ServingKernelCase>& cases,
                                                 const std::filesystem::path& catalogue);

}  // namespace orrery
