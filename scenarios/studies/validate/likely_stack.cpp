// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/likely_stack.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace orrery {
namespace {

struct NameWord {
    std::string_view part;   // part of the software's name
    std::string_view stack;  // entry of the catalogue
};

// Framework by a part of the software's name. The first match counts.
constexpr std::array<NameWord, 28> kNameWords{{{"maxtext", "maxtext"},
                                               {"jax", "maxtext"},
                                               {"xla", "maxtext"},
                                               {"pax", "paxml"},
                                               {"levanter", "maxtext"},
                                               {"easylm", "maxtext"},
                                               {"t5x", "paxml"},
                                               {"neox", "megatron-deepspeed"},
                                               {"nemo", "nemo"},
                                               {"megatron", "megatron-lm"},
                                               {"composer", "llm-foundry"},
                                               {"mosaic", "llm-foundry"},
                                               {"thunder", "lightning-thunder"},
                                               {"hugging", "hugging-face-deepspeed"},
                                               {"transformers", "hugging-face-deepspeed"},
                                               {"accelerate", "hugging-face-deepspeed"},
                                               {"axolotl", "hugging-face-deepspeed"},
                                               {"factory", "hugging-face-deepspeed"},
                                               {"trl", "hugging-face-deepspeed"},
                                               {"peft", "hugging-face-deepspeed"},
                                               {"colossal", "hugging-face-deepspeed"},
                                               {"titan", "torchtitan"},
                                               {"tune", "torchtune"},
                                               {"fsdp", "torchtitan"},
                                               {"litgpt", "torchtitan"},
                                               {"lightning", "torchtitan"},
                                               {"recipes", "torchtitan"},
                                               {"torch", "torchtitan"}}};

bool splits_layers(const PublishedCase& row) {
    return row.plan.tensor_model_parallel_size > 1 || row.plan.pipeline_model_parallel_size > 1;
}

}  // namespace

std::string likely_stack(const PublishedCase& row) {
    std::string name = row.stack;
    std::ranges::transform(name, name.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
    // DeepSpeed trains a model of another library: Megatron-LM's if layers are split over ranks.
    if (has("deepspeed") || (has("zero") && !has("megatron"))) {
        return splits_layers(row) ? "megatron-deepspeed" : "hugging-face-deepspeed";
    }
    const auto known = std::ranges::find_if(kNameWords, has, &NameWord::part);
    if (known != kNameWords.end()) {
        return std::string{known->stack};
    }
    if (says(words_between(row.features, ';'), "xla")) {
        return "maxtext";
    }
    return splits_layers(row) ? "megatron-lm" : "torchtitan";
}

}  // namespace orrery
