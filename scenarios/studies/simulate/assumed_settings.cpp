// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/assumed_settings.h"

#include <algorithm>
#include <string_view>

#include "models/plan/plan_fields.h"
#include "models/transformer/transformer_fields.h"
#include "scenarios/format/document/read_field.h"
#include "scenarios/format/read/effective_scenario.h"

namespace orrery {
namespace {

// Settings with a default that change time or memory most. If a prediction surprises, they are the
// first to check.
constexpr std::string_view kShaping[] = {"sequence_parallel",
                                         "data_parallel_sharding_strategy",
                                         "precision",
                                         "recompute_granularity",
                                         "schedule",
                                         "attention_kernel",
                                         "optimizer",
                                         "overlap_grad_reduce",
                                         "overlap_param_gather",
                                         "tp_comm_overlap",
                                         "overlap_p2p",
                                         "cuda_graphs",
                                         "ffn_hidden_size",
                                         "num_query_groups",
                                         "normalization",
                                         "activation"};

bool is_shaping(std::string_view key) {
    return std::ranges::find(kShaping, key) != std::end(kShaping);
}

// Whether the key affects this step.
bool acts(const Scenario& scenario, std::string_view key) {
    const ParallelPlan& plan = scenario.plan;
    if (key == "sequence_parallel" || key == "tp_comm_overlap") {
        return plan.tensor_model_parallel_size > 1;
    }
    if (key == "schedule" || key == "overlap_p2p") {
        return plan.pipeline_model_parallel_size > 1;
    }
    if (key == "data_parallel_sharding_strategy" || key == "overlap_grad_reduce" ||
        key == "overlap_param_gather") {
        return plan.data_parallel_size > 1;
    }
    return true;
}

bool gives(const DocumentNode& document, std::string_view section, std::string_view key) {
    const DocumentNode* map = document.find(section);
    return map == nullptr || !map->is_map() || map->find(key) != nullptr;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> assumed_settings(const Scenario& scenario) {
    std::vector<std::pair<std::string, std::string>> assumed;
    if (scenario.origin == nullptr) {
        return assumed;
    }
    const DocumentNode& document = scenario.origin->effective;
    // A model from the catalogue is given as a whole, with the keys that its entry leaves out.
    const DocumentNode* model = document.find("model");
    const bool own_model = model != nullptr && model->is_map() && model->find("name") == nullptr;
    for_each_model_field([&](const auto& field) {
        if (own_model && is_shaping(field.name) && !gives(document, "model", field.name)) {
            assumed.emplace_back("model." + std::string{field.name},
                                 field_text(field, scenario.model.*field.member));
        }
    });
    for_each_plan_field([&](const auto& field) {
        if (is_shaping(field.name) && acts(scenario, field.name) &&
            !gives(document, "plan", field.name)) {
            assumed.emplace_back("plan." + std::string{field.name},
                                 field_text(field, scenario.plan.*field.member));
        }
    });
    return assumed;
}

}  // namespace orrery
