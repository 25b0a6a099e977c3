// SPDX-License-Identifier: Apache-2.0
// Kernels in which a serving engine differs from the efficiency curves and from the general list of
// kernels of a step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "kernels/attention/attention.h"
#include "kernels/device_spec.h"
#include "models/serving/serving_step.h"
#include "scenarios/format/specs/serving_spec.h"

namespace orrery {

// Kernels of an engine that differ from the curves: the share that they reach of the memory
// bandwidth, or of the peak for the two names with `products`; 0: none is known. Those of experts
// apply to weights that are not unpacked.
struct EngineKernels {
    double expert_weights = 0;  // products of experts that are bound by their bytes
    double expert_rows = 0;     // around these products
    // Instead of the engine's expert_peak and scaled_expert_peak
    double expert_products = 0;
    double scaled_expert_products = 0;
    double scaled_casts = 0;    // casts of other products' operands with block scales (FP8, FP4)
    double vector_weights = 0;  // products of up to kVectorRows rows
};
// Whose kernels, on which device and generation of devices, with products in how many bits.
struct EngineKernelKey {
    std::string_view engine;
    std::string_view generation;
    std::string_view device = {};
    std::int64_t bits = 16;
};
// Reads the rows of a key from a table like catalogue/engine_kernels.csv. A row without a
// generation holds on all devices; in its place a row may name a device. The last row counts.
Result<EngineKernels> read_engine_kernels(const std::string& file, const EngineKernelKey& key);
// Those of the catalogue.
Result<EngineKernels> engine_kernels(std::string_view engine,
                                     ProductPrecision precision,
                                     std::string_view generation,
                                     std::string_view device = {});

// Rows for which llama.cpp has matrix-vector kernels (ggml/src/ggml-cuda/mmvq.cuh,
// MMVQ_MAX_BATCH_SIZE).
inline constexpr std::int64_t kVectorRows = 8;

// Time of a product of few rows with vector_weights. These kernels have no tiles of tensor cores,
// most of whose rows would be empty: they read the weights once and multiply on the CUDA cores.
std::optional<Time> vector_product_time(const EngineKernels& kernels,
                                        const KernelCall& call,
                                        const DeviceSpec& device);

// Computed rows over routed rows of a product of experts, 1 or more. A kernel computes whole blocks
// of 16 to 64 rows (vllm/model_executor/layers/fused_moe: get_default_config in fused_moe.py,
// block_size_m in fused_marlin_moe.py). Each expert's last block is partly empty: half of it in the
// mean, if loads are unequal.
double filled_blocks(const KernelCall& product);

// Share of the peak that the engine's kernel reaches in a product of experts; 0: that of the
// curves. `unpacks`: the weights have fewer bits than the product.
double expert_peak(const ServingEngine& engine,
                   const EngineKernels& kernels,
                   const KernelCall& product,
                   bool unpacks);

// L2 bandwidth per SM: microbenchmarks reach about 4.5 TB/s on an A100 and 5.6 TB/s on an H100.
inline constexpr double kCachePerSm = 42e9;

// Least time of prompts' attention with the engine's attention_tile_rows, else zero. For a key and
// its value each of a tile's rows takes four operations an element. The tile reads both elements
// through the L2 cache. With vLLM's Triton kernel of 16 rows an H100 takes 0.67 s for 10,000 tokens
// of Llama 3.1 8B, with larger tiles 0.37 s (vLLM pull request 20690); this rule says 0.30 s for
// attention.
Time least_tile_time(const ServingEngine& engine,
                     const ServingPlan& plan,
                     const KernelCall& prompts,
                     const DeviceSpec& device);

// Whether attention reads keys and values of a step's prompts from the paged cache, with the tiles
// of that kernel. Schedulers of whole prompts let it read them where the step has made them, unless
// a prompt has a cached beginning (vLLM v0: block tables of prompts are empty in
// vllm/attention/backends/flash_attn.py, but not with chunks or a hit in the prefix cache).
bool reads_paged_cache(std::string_view scheduler, const AttentionShape& prompts);

// Time of prompts' attention over a paged cache by FlashAttention 2, as a multiple of the curves'
// time. Each block has 64 queries of a head and is not split (run_mha_fwd_splitkv_dispatch in
// csrc/flash_attn/src/flash_fwd_launch_template.h). Over a cached beginning all blocks take equally
// long, and the SMs with one more than others end last.
double uneven_blocks(const AttentionShape& prompts, std::int64_t num_sms);

// Engines with joins_attention call one kernel for a step's prompts and its generating sequences
// (models/serving/cached_attention.h): both ops become one.
void join_attention(std::vector<ServingOp>& ops);

}  // namespace orrery
