// SPDX-License-Identifier: Apache-2.0
// Reads a Hugging Face config.json as a model section: a map with the keys of scenarios/
// read_model.cpp, each at the place of the JSON key that it comes from. Families: gpt2 (GPT style),
// llama, mistral, qwen2, qwen3 (Llama style), others without experts (hf_families.h), and models
// with experts (hf_experts.h). Every key of the file is used, or stands in one of the lists of what
// is left out.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/document/document_node.h"

namespace orrery {

struct HfModel {
    DocumentNode section;
    // Left out although the answer depends on it, left out without being known, and left out
    // because no step depends on it: "key value: why".
    std::vector<std::string> changes;
    std::vector<std::string> unknown;
    std::vector<std::string> without_effect;
    std::vector<std::string> assumed;  // what the file does not say: "dropout: 0.1 (why)"
};

ResultOrErrors<HfModel> read_hf_config(const std::filesystem::path& path);
ResultOrErrors<HfModel> model_of_hf_config(const DocumentNode& config);

// What an answer about this model does not say of itself, a line each: what was left out although
// the answer depends on it or may depend on it, and what was assumed. Nothing is said of keys of
// `model` that the scenario gives (`given`).
std::vector<std::string> remarks_on(const HfModel& model, const std::vector<std::string>& given);

}  // namespace orrery
