// SPDX-License-Identifier: Apache-2.0
// Reads a Hugging Face config.json as a model section: a map with the keys of scenarios/
// read_model.cpp, each at the place of the JSON key that it comes from. Families: gpt2 (GPT style)
// and llama, mistral, qwen2, qwen3 (Llama style). What changes nothing about cost is ignored;
// mixture-of-experts keys are errors.
#pragma once

#include <filesystem>

#include "engine/result.h"
#include "scenarios/read/document_node.h"

namespace orrery {

ResultOrErrors<DocumentNode> read_hf_config(const std::filesystem::path& path);
ResultOrErrors<DocumentNode> model_of_hf_config(const DocumentNode& config);

}  // namespace orrery
