// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/served/trtllm_bench.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "scenarios/studies/validate/served/engine_release.h"

namespace orrery {

namespace {

struct DatasetSize {
    std::int64_t input;
    std::int64_t output;
    std::int64_t requests;
};
constexpr DatasetSize kDatasets[] = {{128, 128, 30000},
                                     {128, 2048, 3000},
                                     {128, 4096, 1500},
                                     {2048, 128, 3000},
                                     {2048, 2048, 1500},
                                     {5000, 500, 1500},
                                     {1000, 1000, 3000},
                                     {500, 2000, 3000},
                                     {20000, 2000, 1000}};

// `length` is input plus output; 0: any other length.
struct ListedEngine {
    std::string_view model;
    std::int64_t tensor_parallel;
    std::int64_t length;
    EngineLimits limits;
};
constexpr ListedEngine kListed[] = {{"llama-3-70b", 1, 0, {2048, 2048}},
                                    {"llama-3-70b", 2, 4096, {2048, 1024}},
                                    {"llama-3-70b", 2, 0, {256, 1024}},
                                    {"llama-3-70b", 4, 0, {2048, 1024}},
                                    {"llama-3-70b", 8, 0, {8192, 16384}},
                                    {"llama-3-8b", 1, 0, {2048, 8192}},
                                    {"llama-2-7b", 1, 0, {4096, 8192}},
                                    {"llama-2-70b", 2, 0, {2048, 2048}},
                                    {"llama-2-70b", 4, 4224, {256, 8192}},
                                    {"llama-2-70b", 4, 0, {4096, 8192}},
                                    {"llama-2-70b", 8, 2176, {1024, 16384}},
                                    {"llama-2-70b", 8, 0, {8192, 16384}},
                                    {"falcon-180b", 4, 0, {4096, 8192}},
                                    {"falcon-180b", 8, 0, {2048, 8192}},
                                    {"gpt-j-6b", 1, 256, {2048, 2048}},
                                    {"gpt-j-6b", 1, 0, {128, 2048}},
                                    {"mixtral-8x7b", 2, 0, {2048, 3072}},
                                    {"mixtral-8x7b", 4, 0, {8192, 8192}},
                                    {"mistral-7b", 1, 0, {4098, 8192}}};

std::int64_t rounded_up(double value, std::int64_t unit) {
    return static_cast<std::int64_t>(std::ceil(value / static_cast<double>(unit))) * unit;
}

// Limits by the rule of releases from 0.15 on.
EngineLimits sized_limits(const ServingCase& row,
                          const Transformer& model,
                          const ServingPlan& plan,
                          const DeviceSpec& device) {
    constexpr double kCacheShare = 0.95;
    constexpr double kMostSequences = 4096;
    constexpr double kMostTokens = 32768;
    const double stages = static_cast<double>(plan.pipeline_model_parallel_size);
    double memory = static_cast<double>(plan.num_ranks() * device.memory.count());
    double token_bytes = 0;
    for (std::int64_t stage = 0; stage < plan.pipeline_model_parallel_size; ++stage) {
        const auto ranks = static_cast<double>(plan.ranks_of_stage());
        memory -= ranks * static_cast<double>(serving_weight_bytes(model, plan, stage).count());
        token_bytes +=
            ranks * static_cast<double>(key_value_bytes_of_rank(model, plan, stage).count());
    }
    const double fit =
        kCacheShare * memory / (token_bytes * (row.input_tokens + row.output_tokens));
    const double sequences = std::min(fit, kMostSequences) / stages;
    const double tokens =
        std::min(sequences * (1 + row.input_tokens / row.output_tokens), kMostTokens);
    EngineLimits limits;
    limits.max_num_seqs = sequences < 256    ? std::max<std::int64_t>(64, rounded_up(sequences, 32))
                          : sequences < 1024 ? rounded_up(sequences, 128)
                                             : rounded_up(sequences, 256);
    limits.max_num_batched_tokens = tokens < 4096
                                        ? std::max<std::int64_t>(2048, rounded_up(tokens, 256))
                                    : tokens < 8192 ? rounded_up(tokens, 512)
                                                    : rounded_up(tokens, 1024);
    return limits;
}

}  // namespace

bool is_trtllm_bench(const ServingCase& row) {
    return row.load == "offline" && row.engine.starts_with("trtllm-") &&
           row.engine.find("mlperf") == std::string::npos;
}

std::int64_t trtllm_bench_requests(const ServingCase& row) {
    for (const DatasetSize& size : kDatasets) {
        if (std::llround(row.input_tokens) == size.input &&
            std::llround(row.output_tokens) == size.output) {
            return size.requests;
        }
    }
    return 0;
}

std::optional<EngineLimits> trtllm_bench_limits(const ServingCase& row,
                                                const Transformer& model,
                                                const ServingPlan& plan,
                                                const DeviceSpec& device) {
    constexpr EngineRelease kFirstSized{.major = 0, .minor = 15};
    if (release_of(row.engine).value_or(kFirstSized) >= kFirstSized) {
        return sized_limits(row, model, plan, device);
    }
    const std::int64_t length = std::llround(row.input_tokens + row.output_tokens);
    for (const ListedEngine& listed : kListed) {
        if (listed.model == model.name &&
            listed.tensor_parallel == plan.tensor_model_parallel_size &&
            (listed.length == length || listed.length == 0)) {
            return listed.limits;
        }
    }
    return std::nullopt;
}

}  // namespace orrery
