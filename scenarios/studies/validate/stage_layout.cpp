// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/stage_layout.h"

#include <algorithm>

namespace orrery {
namespace {

// Layers of Megatron-Bridge's recipes for DeepSeek-V3 and Kimi-K2
// (recipes/deepseek/deepseek_v3.py): equal stages, except that the last has the remaining layers,
// the multi-token prediction and the loss.
std::vector<std::int64_t> equal_but_the_last(std::int64_t layers, std::int64_t stages) {
    const std::int64_t most = (layers + stages - 1) / stages;
    std::vector<std::int64_t> layout;
    for (std::int64_t stage = 0; stage < stages; ++stage) {
        layout.push_back(std::clamp<std::int64_t>(layers - stage * most, 0, most));
    }
    return layout;
}

std::vector<std::int64_t> first_have_more(std::int64_t layers, std::int64_t stages) {
    std::vector<std::int64_t> layout;
    for (std::int64_t stage = 0; stage < stages; ++stage) {
        layout.push_back(layers / stages + (stage < layers % stages ? 1 : 0));
    }
    return layout;
}

}  // namespace

std::vector<std::int64_t> layers_by_cost(const Transformer& model, std::int64_t stages) {
    const std::int64_t products = model.gated_mlp() ? 3 : 2;
    const std::int64_t layer =
        (4 * model.query_size() + products * model.ffn_hidden_size) * model.hidden_size;
    const std::int64_t all = model.num_layers * layer + model.vocab_size * model.hidden_size;
    std::vector<std::int64_t> layout(static_cast<std::size_t>(stages), 0);
    std::int64_t stage = 0;
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < model.num_layers; ++i) {
        ++layout[static_cast<std::size_t>(stage)];
        sum += layer;
        stage += sum * stages > all * (stage + 1) && stage + 1 < stages ? 1 : 0;
    }
    // The output layer follows the last stage's layers.
    const bool whole = stage + 1 == stages && std::ranges::count(layout, 0) == 0;
    return whole ? layout : std::vector<std::int64_t>{};
}

void set_pipeline_layout(const PublishedCase& row,
                         const std::vector<std::string>& words,
                         ParallelPlan& plan) {
    for (const std::string& layers : words_between(value_of_word(words, "pipeline_layers"), '/')) {
        plan.pipeline_layout.push_back(digits_of(layers));
    }
    const std::int64_t stages =
        plan.pipeline_model_parallel_size * plan.virtual_pipeline_model_parallel_size;
    const std::int64_t layers = row.model.num_layers;
    const std::int64_t places =
        layers + (plan.embedding_and_loss_as_layers ? 2 + row.mtp_num_layers : 0);
    if (plan.pipeline_layout.empty() && stages > 1 && row.stack.starts_with("nanotron")) {
        plan.pipeline_layout = layers_by_cost(row.model, stages);
    }
    if (plan.pipeline_layout.empty() && stages > 1) {
        if (says(words, "uneven_pipeline_stages") && places % stages != 0) {
            plan.pipeline_layout = first_have_more(layers, stages);
        } else if (row.stack.starts_with("mb") && places % stages != 0) {
            plan.pipeline_layout = equal_but_the_last(layers, stages);
        }
    }
    if (!plan.pipeline_layout.empty()) {
        plan.embedding_and_loss_as_layers = false;
    }
}

}  // namespace orrery
