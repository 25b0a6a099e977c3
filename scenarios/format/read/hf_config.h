// SPDX-License-Identifier: Apache-2.0
// Reads a Hugging Face config.json as a model section: a map with the keys of read_model.cpp, each
// at the place of its JSON key. Families: gpt2 (GPT style), llama, mistral, qwen2, qwen3 (Llama
// style), others without experts (hf_families.h), and models with experts (hf_experts.h). Every key
// of the file is used or listed as left out.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/document/document_node.h"

namespace orrery {

struct HfModel {
    DocumentNode section;
    // Keys that are left out, as "key value: why": those on which the answer depends, unknown ones,
    // and those on which no step depends.
    std::vector<std::string> changes;
    std::vector<std::string> unknown;
    std::vector<std::string> without_effect;
    std::vector<std::string> assumed;  // values that the file lacks: "dropout: 0.1 (why)"
};

ResultOrErrors<HfModel> read_hf_config(const std::filesystem::path& path);
ResultOrErrors<HfModel> model_of_hf_config(const DocumentNode& config);

// Remarks for the answer, a line each: left-out keys on which the answer depends or may depend, and
// assumed values. Keys that the scenario gives under `model` (`given`) are not mentioned.
std::vector<std::string> remarks_on(const HfModel& model, const std::vector<std::string>& given);

}  // namespace orrery
