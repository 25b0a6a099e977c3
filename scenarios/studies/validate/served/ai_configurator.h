// SPDX-License-Identifier: Apache-2.0
// Settings of the engines that AIConfigurator measured, where its rows do not state them: its
// generator's rules for benchmarks (github.com/ai-dynamo/aiconfigurator,
// src/aiconfigurator/generator/rule_plugin/benchmark/trtllm.rule and vllm.rule).
#pragma once

#include "scenarios/studies/validate/served/serving_cases.h"
#include "scenarios/studies/validate/served/trtllm_bench.h"

namespace orrery {

// Decides by the row's source. AIConfigurator also publishes rows of InferenceMAX, which are not
// its own.
bool is_ai_configurator(const ServingCase& row);

// Limits of an aggregated instance: one sequence per user, and steps that hold one whole prompt.
EngineLimits ai_configurator_limits(const ServingCase& row);

// Servers of TensorRT-LLM compute whole prompts unless they are told to cut them
// (tensorrt_llm/llmapi/llm_args.py: enable_chunked_prefill is false). AIConfigurator's generator
// and the recipes of InferenceMAX say so, too. trtllm-bench and the harnesses of MLPerf cut them.
bool leaves_prompts_whole(const ServingCase& row);

}  // namespace orrery
