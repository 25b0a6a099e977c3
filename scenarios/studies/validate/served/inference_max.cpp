// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/served/inference_max.h"

#include <cmath>

namespace orrery {

namespace {

constexpr std::int64_t kLlamaTokens = 16'384;  // max_num_tokens of 70b_fp8_h200_trt_slurm.sh

bool is_llama_by_tensorrt(const ServingCase& row) {
    return row.engine.starts_with("trtllm") && row.model.starts_with("llama") && row.gpu == "h200";
}

// Mean prompt length. The load draws lengths uniformly between length_spread times the stated
// number and that number.
double mean_tokens(const ServingCase& row) {
    constexpr double kMean = 0.9;  // RANDOM_RANGE_RATIO is 0.8
    return kMean * row.input_tokens;
}

}  // namespace

bool is_inference_max(const ServingCase& row) {
    return row.source.find("InferenceMAX") != std::string::npos;
}

std::optional<EngineLimits> inference_max_limits(const ServingCase& row) {
    if (!is_inference_max(row) || row.mode == "disaggregated") {
        return std::nullopt;
    }
    const auto input = static_cast<std::int64_t>(std::llround(row.input_tokens));
    if (row.engine.starts_with("vllm")) {
        return EngineLimits{.max_num_seqs = row.concurrency, .max_num_batched_tokens = 8192};
    }
    const bool deepseek = row.model.starts_with("deepseek-r1") && row.gpu == "h200";
    if (row.engine.starts_with("sglang") && deepseek) {
        const bool even = input == 1024 && std::llround(row.output_tokens) == 1024;
        return EngineLimits{.max_num_seqs = even ? 512 : 256, .max_num_batched_tokens = 32'768};
    }
    if (is_llama_by_tensorrt(row)) {
        return EngineLimits{.max_num_seqs = 2048, .max_num_batched_tokens = kLlamaTokens};
    }
    // Each rank has room for a token of every user and one prompt.
    if (row.engine.starts_with("trtllm") && deepseek) {
        return EngineLimits{.max_num_seqs = 2048 * row.data_parallel,
                            .max_num_batched_tokens =
                                (row.concurrency + input + 127) / 64 * 64 * row.data_parallel};
    }
    return std::nullopt;
}

// TensorRT-LLM's batch_wait_timeout_iters and batch_wait_max_tokens_ratio: prompts wait until they
// fill 0.9 of a step, for at most twenty steps.
std::optional<PromptWait> inference_max_prompt_wait(const ServingCase& row) {
    constexpr std::int64_t kEven = 1024;
    constexpr double kFull = 0.9;
    constexpr std::uint16_t kSteps = 20;
    if (!is_inference_max(row) || !is_llama_by_tensorrt(row) || row.tensor_parallel >= 8 ||
        std::llround(row.input_tokens) != kEven || std::llround(row.output_tokens) != kEven) {
        return std::nullopt;
    }
    return PromptWait{.prompts = static_cast<std::uint16_t>(
                          std::ceil(kFull * static_cast<double>(kLlamaTokens) / mean_tokens(row))),
                      .steps = kSteps};
}

}  // namespace orrery
