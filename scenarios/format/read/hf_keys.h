// SPDX-License-Identifier: Apache-2.0
// Keys of a Hugging Face config.json that no key of `model` expresses, with the reason why a step
// does not depend on them, or what is lost with them. From the configuration classes of
// transformers 4.57 (PretrainedConfig, GPT2Config, LlamaConfig, MistralConfig, Qwen2Config,
// Qwen3Config).
#pragma once

#include <cstdint>
#include <string_view>

#include "scenarios/format/document/document_node.h"

namespace orrery {

enum class HfKeyEffect : std::uint8_t {
    none,     // the step does not depend on this value
    answer,   // parameters, FLOPs, memory or kernels depend on it
    unknown,  // the key is unknown
};

struct HfKey {
    HfKeyEffect effect = HfKeyEffect::unknown;
    std::string_view why{};  // "a constant inside a kernel", "dropout of attention weights"
};

// The effect of leaving out the key with this value. Null counts as absent.
HfKey left_out_hf_key(std::string_view key, const DocumentNode& value);

}  // namespace orrery
