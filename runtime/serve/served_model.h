// SPDX-License-Identifier: Apache-2.0
// A model to serve: its dimensions and all its weights in fp32, by the names of
// models/blocks/parameters.cpp. They come from a checkpoint, a safetensors file, or a seed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "models/transformer/transformer.h"

namespace orrery {

struct ServedModel {
    Transformer model;
    std::map<std::string, std::vector<float>, std::less<>> weights;
    std::int64_t adapters = 0;      // low-rank ones, among the weights
    std::int64_t adapter_rank = 0;  // runtime/serve/served_adapters.h
};

// Loads a run's folder, the folder of one step, or a safetensors file with Hugging Face's names. An
// empty path draws the weights from the seed. An error if a checkpoint belongs to another model.
ResultOrErrors<ServedModel> load_served_model(const Transformer& model,
                                              const std::filesystem::path& weights,
                                              std::uint64_t seed);

}  // namespace orrery
