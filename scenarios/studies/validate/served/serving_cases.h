// SPDX-License-Identifier: Apache-2.0
// Published serving measurements: the columns of catalogue/published/serving.csv and
// serving_models.csv.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "models/transformer/transformer.h"

namespace orrery {

struct ServingCase {
    std::string name;
    std::string family;
    std::string source;  // where it was published
    std::string engine;  // "trtllm-0.14", "vllm-0.19.0"
    std::string gpu;
    std::string model;
    std::string weight_precision;
    std::string key_value_precision;
    bool attention_in_16_bits = false;  // the row's checkpoint keeps its projections so
    std::string mode;  // static, aggregated, disaggregated
    std::string load;  // static, single, offline, closed, poisson, trace
    std::int64_t num_gpus = 0;
    std::int64_t tensor_parallel = 1;
    std::int64_t pipeline_parallel = 1;
    std::int64_t data_parallel = 1;
    std::int64_t expert_parallel = 1;
    std::int64_t replicas = 1;
    std::int64_t gpus_per_node = 8;
    // Of rows whose prompts and generation have instances of their own.
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
    double output_tokens = 0;
    std::string length_spread;
    std::int64_t max_num_seqs = 0;  // 0: not stated, as the next two
    std::int64_t max_num_batched_tokens = 0;
    double memory_share = 0;
    std::int64_t draft_tokens = 0;  // that one more layer of the model proposes in each step
    double power_cap_w = 0;
    // Measured; 0: not published.
    double ttft_s = 0;  // mean, else median
    double tpot_s = 0;
    double e2e_s = 0;
    double output_tokens_per_s = 0;
    // What 99 of 100 requests of the published run stayed below; 0: not stated.
    double ttft_objective_s = 0;
    double tpot_objective_s = 0;
    std::string where;  // "serving.csv:12"

    // MLPerf's server rate is by its rules the largest one at which a system meets the objectives
    // (MLCommons inference rules, "Scenarios").
    bool at_highest_rate() const {
        return load == "poisson" && (ttft_objective_s > 0 || tpot_objective_s > 0);
    }
};

// Whether the file's first line is that of a table of served loads.
bool is_serving_table(const std::string& file);
ResultOrErrors<std::vector<ServingCase>> read_serving_cases(const std::string& file);
// The transformers of a table like catalogue/published/serving_models.csv.
ResultOrErrors<std::vector<Transformer>> read_served_models(const std::string& file);
// The model that a row names; releases 3.1 and 3.3 of Llama have the dimensions of 3. Null if there
// is none.
const Transformer* served_model(const std::vector<Transformer>& models, const std::string& name);
// Whether the row's FP8 weights have a scale for each block of 128 x 128.
bool has_block_scales(const ServingCase& row);
// Whether graphs hold the row's steps of all lengths, although the release's default ends before.
bool captures_all_contexts(const ServingCase& row);
// Whether checkpoints of the model with weights of this word keep attention's projections in 16
// bits.
bool keeps_attention_in_16_bits(const std::string& model, const std::string& weight_precision);

}  // namespace orrery
