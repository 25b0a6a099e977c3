// SPDX-License-Identifier: Apache-2.0
// Hugging Face's models with experts: Mixtral, Qwen2-MoE and Qwen3-MoE, DeepSeek-V2 to V3.2 (and
// Moonlight), Kimi-K2, Llama 4, GPT-OSS, GLM-4.5, MiniMax-M2, OLMoE, Phi-3.5-MoE.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/format/read/hf_config.h"

namespace orrery {

std::vector<std::string> hf_families_with_experts();
bool has_hf_experts(std::string_view family);

// `errors` were found before and are returned, too.
ResultOrErrors<HfModel> translate_hf_experts(const DocumentNode& config,
                                             std::string_view family,
                                             Errors errors);

}  // namespace orrery
