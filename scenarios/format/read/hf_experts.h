// SPDX-License-Identifier: Apache-2.0
// Models with experts among Hugging Face's: Mixtral, Qwen3-MoE, DeepSeek-V2 and V3 (Moonlight too),
// Kimi-K2, Llama 4, GPT-OSS.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/format/read/hf_config.h"

namespace orrery {

std::vector<std::string> hf_families_with_experts();
bool has_hf_experts(std::string_view family);

// `errors` that were found before come along.
ResultOrErrors<HfModel> translate_hf_experts(const DocumentNode& config,
                                             std::string_view family,
                                             Errors errors);

class HfTranslator;
// Layers that see a window of tokens only (hf_config.cpp).
void translate_hf_windows(HfTranslator& to, std::string_view family);

}  // namespace orrery
