// SPDX-License-Identifier: Apache-2.0
// Published serving measurements: the columns of catalogue/published/serving.csv and
// serving_models.csv.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "models/transformer/transformer.h"

namespace orrery {

struct ServingCase {
    std::string name;
    std::string family;
    std::string source;          // publication
    std::string engine;          // "trtllm-0.14", "vllm-0.19.0"
    std::string release;         // of vLLM, where the notes name it: "0.6.3"
    bool whole_prompts = false;  // the notes say that the benchmark leaves prompts whole
    std::string gpu;
    std::string model;
    std::string weight_precision;
    std::string key_value_precision;
    bool attention_in_16_bits = false;  // the notes say so of the checkpoint's projections
    std::string mode;                   // static, aggregated, disaggregated
    std::string load;                   // static, single, offline, closed, poisson, trace
    std::int64_t num_gpus = 0;
    std::int64_t tensor_parallel = 1;
    std::int64_t pipeline_parallel = 1;
    std::int64_t data_parallel = 1;
    std::int64_t expert_parallel = 1;
    std::int64_t replicas = 1;
    std::int64_t gpus_per_node = 8;
    // Instances of a disaggregated row.
    struct Workers {
        std::int64_t workers = 0;
        std::int64_t tensor_parallel = 1;
        std::int64_t data_parallel = 1;
        std::int64_t expert_parallel = 1;
    };
    Workers prefill;
    Workers decode;
    std::int64_t concurrency = 0;
    double request_rate = 0;
    std::int64_t num_requests = 0;  // 0: not stated
    double input_tokens = 0;
    double tokens_of_text = 1;  // of these, for each that the client counts in the same text
    double output_tokens = 0;
    std::string length_spread;
    std::int64_t numpy_seed = -1;  // of lengths that the client's NumPy draws; negative: not known
    // Of these, from the first one: their prompts were computed by an earlier run of the benchmark,
    // and the server kept its cache.
    std::int64_t repeated_requests = 0;
    bool share_gpt = false;         // the notes say that conversations of ShareGPT are the prompts
    std::int64_t max_num_seqs = 0;  // 0: not stated, also for the next two
    std::int64_t max_num_batched_tokens = 0;
    double memory_share = 0;
    std::int64_t cache_tokens = 0;  // the cache of a server holds, by the notes; 0: what fits
    std::int64_t draft_tokens = 0;  // that one more layer of the model proposes in each step
    bool cold_start = false;        // no warm-up before the run but for one request
    double power_cap_w = 0;
    // Measured values; 0: not published.
    double ttft_s = 0;  // mean, else median
    double tpot_s = 0;
    double e2e_s = 0;
    double output_tokens_per_s = 0;
    // 99 of 100 requests of the published run stayed below this; 0: not stated.
    double ttft_objective_s = 0;
    double tpot_objective_s = 0;
    std::string where;  // "serving.csv:12"

    // MLPerf's server rate is by its rules the highest rate that meets the objectives (MLCommons
    // inference rules, "Scenarios").
    bool at_highest_rate() const {
        return load == "poisson" && (ttft_objective_s > 0 || tpot_objective_s > 0);
    }
};

// FP8 checkpoints of a model with a scale per block of 128 x 128: none, its authors' own, or all.
enum class BlockScales : std::uint8_t { none, own, all };
// Norms of queries and keys: of each head, or over all heads (models/serving/head_norms.h).
enum class HeadNorms : std::uint8_t { none, each, all };

// A model with facts of its checkpoints and of its experts' loads, which have their sources in
// serving_models.csv.
struct PublishedModel : Transformer {
    BlockScales fp8_block_scales = BlockScales::none;
    std::int64_t fp4_attention_bits = 4;       // of attention's projections in FP4 checkpoints
    bool norms_all_heads = false;              // ServingPlan's field of this name
    double expert_load_alpha = 0;              // Zipf exponent under real prompts
    std::int64_t max_position_embeddings = 0;  // the longest context; 0: not stated
};

// Whether the first line of the file is the header of a table of served loads.
bool is_serving_table(const std::string& file);
ResultOrErrors<std::vector<ServingCase>> read_serving_cases(const std::string& file);
// Reads a table like catalogue/published/serving_models.csv.
ResultOrErrors<std::vector<PublishedModel>> read_served_models(const std::string& file);
// The model that a row names, or null. Llama 3.1 and 3.3 have the dimensions of Llama 3.
const PublishedModel* served_model(const std::vector<PublishedModel>& models,
                                   const std::string& name);
// Whether the row's FP8 weights have a scale per block of 128 x 128.
bool has_block_scales(const ServingCase& row, const PublishedModel& model);
// Whether graphs hold the row's steps of all lengths, although the release's default ends before.
bool captures_all_contexts(const ServingCase& row);
// Whether vLLM before its first engine computes prompts in chunks.
bool chunks_prompts_by_default(const ServingCase& row, const PublishedModel& model);
// Whether the row's checkpoint keeps attention's projections in 16 bits.
bool keeps_attention_in_16_bits(const ServingCase& row, const PublishedModel& model);
// Whether the row's engine sums by FlashInfer's kernel, with flags in the data.
bool sums_by_flashinfer(const ServingCase& row, std::string_view generation);

}  // namespace orrery
