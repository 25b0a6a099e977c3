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

// Its generator leaves chunked context of TensorRT-LLM off (backend_templates/trtllm/
// extra_engine_args.1.0.0rc3.yaml.j2: enable_chunked_prefill).
bool leaves_prompts_whole(const ServingCase& row);

}  // namespace orrery
