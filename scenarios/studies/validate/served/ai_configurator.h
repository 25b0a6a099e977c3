// SPDX-License-Identifier: Apache-2.0
// How AIConfigurator serves the rows that it measured itself, as far as they do not say: its
// generator's rules for benchmarks (github.com/ai-dynamo/aiconfigurator,
// src/aiconfigurator/generator/rule_plugin/benchmark/trtllm.rule and vllm.rule).
#pragma once

#include "scenarios/studies/validate/served/serving_cases.h"
#include "scenarios/studies/validate/served/trtllm_bench.h"

namespace orrery {

// By the row's source. Rows of InferenceMAX that AIConfigurator publishes are not its own.
bool is_ai_configurator(const ServingCase& row);

// Of an aggregated instance: as many sequences as users, and steps that take one prompt whole.
EngineLimits ai_configurator_limits(const ServingCase& row);

}  // namespace orrery
