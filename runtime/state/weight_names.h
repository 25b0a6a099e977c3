// SPDX-License-Identifier: Apache-2.0
// The names and layouts of weights in Hugging Face transformers (GPT2LMHeadModel,
// LlamaForCausalLM, Qwen2ForCausalLM, MixtralForCausalLM), and their relation to Orrery's
// (models/blocks/parameters.cpp: matrices are (input, output), a norm's weight is gamma then beta,
// queries, keys and values are side by side, and so are gate and up).
//   GPT-2  Conv1D weights are (input, output) as ours; c_attn is queries, keys, values.
//   Llama  Linear weights are (output, input); rotary pairs are i and i + head_dim / 2, as ours.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "models/transformer/transformer.h"
#include "runtime/state/safetensors.h"

namespace orrery {

// Some rows and columns of one of our parameters as a weight with a Hugging Face name. The matrices
// of experts are stored as rows of one.
struct NamedWeight {
    std::string name;                 // Hugging Face's
    std::vector<std::int64_t> shape;  // Hugging Face's
    std::string parameter;            // Orrery's, rows x columns
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t first_row = 0;
    std::int64_t num_rows = 0;
    std::int64_t first_column = 0;
    std::int64_t num_columns = 0;
    bool transposed = false;  // Hugging Face's is (columns, rows)
};

// In the order of the model, with every element of every parameter once. Fails for a model that is
// no GPT-2, Llama, Qwen2 or Mixtral; Error::where is empty.
Result<std::vector<NamedWeight>> hugging_face_weights(const Transformer& model);

// Extracts the Hugging Face weight from our whole parameter.
std::vector<float> take(const NamedWeight& weight, std::span<const float> parameter);
// Writes the Hugging Face weight to its place in our whole parameter.
void put(const NamedWeight& weight, std::span<const float> theirs, std::span<float> parameter);

// The config.json of a model that hugging_face_weights() supports; `type` is that of the weights.
std::string hugging_face_config(const Transformer& model, std::string_view type);

// The weights of a safetensors file with Hugging Face's names.
class ImportedWeights {
public:
    // Reports every tensor that is missing, unexpected or of another shape or type. Error::where is
    // the path. Ignores buffers that are no weights (masks, rotary frequencies, a tied lm_head).
    // Names may lack the prefix "transformer.".
    static ResultOrErrors<ImportedWeights> open(const std::filesystem::path& path,
                                                const Transformer& model);

    // Whether a file has weights of experts.
    static Result<bool> has_experts(const std::filesystem::path& path);

    // One of our parameters, whole; empty if the model has none of this name.
    Result<std::vector<float>> parameter(std::string_view name) const;

private:
    struct Source {
        NamedWeight weight;
        std::string name;  // in the file
    };
    ImportedWeights(Safetensors file, std::vector<Source> sources)
        : file_(std::move(file)), sources_(std::move(sources)) {}

    Safetensors file_;
    std::vector<Source> sources_;
};

}  // namespace orrery
