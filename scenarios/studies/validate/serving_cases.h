// SPDX-License-Identifier: Apache-2.0
// Published serving measurements (the columns of catalogue/published/serving.csv) beside what the
// simulated engines do: one mapping of engines, devices and loads for all rows, and no constant of
// a family. Rows that cannot be expressed say why.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/result.h"
#include "models/transformer.h"
#include "scenarios/format/specs/serving_spec.h"

namespace orrery {

struct ServingCase {
    std::string name;
    std::string family;
    std::string engine;  // "trtllm-0.14", "vllm-0.19.0"
    std::string gpu;
    std::string model;
    std::string weight_precision;
    std::string key_value_precision;
    std::string mode;  // static, aggregated, disaggregated
    std::string load;  // static, single, offline, closed, poisson, trace
    std::int64_t num_gpus = 0;
    std::int64_t tensor_parallel = 1;
    std::int64_t pipeline_parallel = 1;
    std::int64_t data_parallel = 1;
    std::int64_t expert_parallel = 1;
    std::int64_t replicas = 1;
    std::int64_t concurrency = 0;
    double request_rate = 0;
    std::int64_t num_requests = 0;  // 0: not stated
    double input_tokens = 0;
    double output_tokens = 0;
    std::string length_spread;
    std::int64_t max_num_seqs = 0;  // 0: not stated, as the next two
    std::int64_t max_num_batched_tokens = 0;
    double memory_share = 0;
    double power_cap_w = 0;
    // Measured; 0: not published.
    double ttft_s = 0;  // mean, else median
    double tpot_s = 0;
    double e2e_s = 0;
    double output_tokens_per_s = 0;
    std::string where;  // "serving.csv:12"
};

struct ServingMetric {
    std::string case_name;
    std::string family;
    std::string metric;  // "ttft_s", "tpot_s", "e2e_s", "output_tokens_per_s"
    double measured = 0;
    double predicted = 0;
    double error() const { return predicted / measured - 1; }
};

struct SkippedServingCase {
    std::string case_name;
    std::string reason;
};

struct ServingFamilyError {
    std::string family;
    std::string metric;
    std::size_t rows = 0;
    double median = 0;  // of the absolute errors
    double bias = 0;    // median of the signed errors
};

struct ServingValidation {
    std::vector<ServingMetric> rows;
    std::vector<SkippedServingCase> skipped;
    std::vector<ServingFamilyError> families;  // a row for each family and metric
    // Mean over families of their medians, by metric; without a family.
    std::vector<ServingFamilyError> balanced;
};

// Whether the file's first line is that of a table of served loads.
bool is_serving_table(const std::string& file);
ResultOrErrors<std::vector<ServingCase>> read_serving_cases(const std::string& file);
// Dimensions by name, from a table like catalogue/published/serving_models.csv. Rows with experts
// or latent attention have no transformer.
struct ServedModel {
    std::string name;
    Transformer model;
    std::string unsupported;  // why it cannot be served, or empty
};
ResultOrErrors<std::vector<ServedModel>> read_served_models(const std::string& file);

ServingValidation validate_serving(const std::vector<ServingCase>& cases,
                                   const std::vector<ServedModel>& models,
                                   const std::filesystem::path& catalogue);

}  // namespace orrery
