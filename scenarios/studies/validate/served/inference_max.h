// SPDX-License-Identifier: Apache-2.0
// Settings with which InferenceMAX serves a published row, where its results do not state them:
// server options in its scripts on the row's day (github.com/SemiAnalysisAI/InferenceX,
// benchmarks/*.sh).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "scenarios/studies/validate/served/serving_cases.h"
#include "scenarios/studies/validate/served/trtllm_bench.h"

namespace orrery {

// Decides by the row's source.
bool is_inference_max(const ServingCase& row);

// Corrects what the table assumes about the row: its split of experts and attention, the type of
// its cache, its share of the memory, and the tokens that a draft proposes. `notes` are the row's,
// with the day of its run.
void apply_inference_max_script(const std::string& notes, ServingCase& row);

// Nothing if no script of the model and the engine is known.
std::optional<EngineLimits> inference_max_limits(const ServingCase& row);

// New prompts wait until there are `prompts` of them, for at most `steps` steps of the generating
// sequences.
struct PromptWait {
    std::uint16_t prompts = 1;
    std::uint16_t steps = 0;
    bool operator==(const PromptWait&) const = default;
};
std::optional<PromptWait> inference_max_prompt_wait(const ServingCase& row);

// Of SGLang: steps that generate between two looks for new requests (--scheduler-recv-interval).
std::uint32_t inference_max_steps_to_queue(const ServingCase& row);

// The scripts of Llama 70B and GPT-OSS by vLLM have "async-scheduling: true" (70b_fp8_h100*.sh,
// gptoss_fp4_h100*.sh), which is the default from 0.14 on.
bool inference_max_schedules_ahead(const ServingCase& row);

// The catalogue's engine if the options ask for other kernels than the release's; else empty.
// SGLang's have moe-runner-backend: flashinfer_trtllm for FP8 on Blackwell (dsr1_fp8_b300.sh;
// NVIDIA/srt-slurm, recipes/gb200-fp8/*/low-latency.yaml).
std::string_view inference_max_engine(const ServingCase& row);

// SGLang's pools with attention data parallelism have moe-a2a-backend: deepep in the recipes
// (NVIDIA/srt-slurm, recipes/gb200-fp8/8k1k/mid-curve.yaml), whose experts are DeepGEMM's kernels.
bool inference_max_has_deep_gemm(const ServingCase& row);

}  // namespace orrery
