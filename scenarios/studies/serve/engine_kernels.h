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

namespace orrery {

// Kernels of an engine that differ from the curves: the share of the memory bandwidth that they
// reach, or 0. The two of experts apply to weights that are not unpacked.
struct EngineKernels {
    double expert_weights = 0;  // products of experts that are bound by their bytes
    double expert_rows = 0;     // around these products
    double scaled_casts = 0;    // casts of other products' operands with block scales (FP8, FP4)
    double vector_weights = 0;  // products of up to kVectorRows rows
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
// Those of the catalogue.
Result<EngineKernels> engine_kernels(std::string_view engine,
                                     ProductPrecision precision,
                                     std::string_view generation);

// Rows for which llama.cpp has matrix-vector kernels (ggml/src/ggml-cuda/mmvq.cuh,
// MMVQ_MAX_BATCH_SIZE).
inline constexpr std::int64_t kVectorRows = 8;

// Time of a product of few rows with vector_weights. These kernels have no tiles of tensor cores,
// most of whose rows would be empty: they read the weights once and multiply on the CUDA cores.
std::optional<Time> vector_product_time(const EngineKernels& kernels,
                                        const KernelCall& call,
                                        const DeviceSpec& device);

// Whether attention reads keys and values of a step's prompts from the paged cache, with the tiles
// of that kernel. Schedulers of whole prompts let it read them where the step has made them, unless
// a prompt has a cached beginning (vLLM v0: block tables of prompts are empty in
// vllm/attention/backends/flash_attn.py, but not with chunks or a hit in the prefix cache).
bool reads_paged_cache(std::string_view scheduler, const AttentionShape& prompts);

// Engines with joins_attention call one kernel for a step's prompts and its generating sequences
// (models/serving/cached_attention.h): both ops become one.
void join_attention(std::vector<ServingOp>& ops);

}  // namespace orrery
