// SPDX-License-Identifier: Apache-2.0
#include "scenarios/search/write_plan.h"

#include <fmt/format.h>

#include "engine/check.h"
#include "scenarios/read/overrides.h"
#include "scenarios/read/plan_words.h"
#include "scenarios/read/yaml_document.h"

namespace orrery {
namespace {

void set(DocumentNode& document, const std::string& key, std::string_view value) {
    Errors errors;
    apply_override(document, fmt::format("{}={}", key, value), errors);
    ORRERY_CHECK(errors.empty());
}

void erase(DocumentNode& map, std::string_view key) {
    const std::size_t at = key_position(map, key);
    if (at != kNoKey) {
        map.keys.erase(map.keys.begin() + static_cast<std::ptrdiff_t>(at));
        map.items.erase(map.items.begin() + static_cast<std::ptrdiff_t>(at));
    }
}

void move_path(DocumentNode& node,
               const std::filesystem::path& from,
               const std::filesystem::path& to) {
    if (node.is_sequence()) {
        for (DocumentNode& item : node.items) {
            move_path(item, from, to);
        }
    } else if (node.is_scalar() && std::filesystem::path{node.text}.is_relative()) {
        std::error_code ignored;
        const auto target = std::filesystem::absolute(from / node.text, ignored);
        const auto folder = std::filesystem::absolute(to, ignored);
        const auto relative =
            target.lexically_normal().lexically_relative((folder / "").lexically_normal());
        node.text = (relative.empty() ? target : relative).string();
    }
}

}  // namespace

std::string scenario_with_plan(DocumentNode document,
                               const ParallelPlan& plan,
                               const std::vector<std::pair<std::string, std::string>>& cluster,
                               const std::filesystem::path& from,
                               const std::filesystem::path& to) {
    erase(document, "search");
    for (const auto& [key, value] : cluster) {
        set(document, "cluster." + key, value);
    }
    const auto number = [&](const char* key, std::int64_t value) {
        set(document, fmt::format("plan.{}", key), fmt::format("{}", value));
    };
    const auto word = [&](const char* key, std::string_view value) {
        set(document, fmt::format("plan.{}", key), value);
    };
    const auto flag = [&](const char* key, bool value) { word(key, value ? "true" : "false"); };
    number("tensor_model_parallel_size", plan.tensor_model_parallel_size);
    number("pipeline_model_parallel_size", plan.pipeline_model_parallel_size);
    number("virtual_pipeline_model_parallel_size", plan.virtual_pipeline_model_parallel_size);
    number("context_parallel_size", plan.context_parallel_size);
    flag("sequence_parallel", plan.sequence_parallel);
    word("data_parallel_sharding_strategy",
         word_of(plan.data_parallel_sharding_strategy, kShardingStrategies));
    number("micro_batch_size", plan.micro_batch_size);
    word("recompute_granularity", word_of(plan.recompute_granularity, kRecomputes));
    word("schedule", word_of(plan.schedule, kSchedules));
    word("rank_order", word_of(plan.rank_order, kRankOrders));
    flag("overlap_grad_reduce", plan.overlap_grad_reduce);
    flag("overlap_param_gather", plan.overlap_param_gather);
    if (document.find("plan")->find("overlap_param_gather_with_optimizer_step") != nullptr) {
        flag("overlap_param_gather_with_optimizer_step",
             plan.overlap_param_gather_with_optimizer_step);
    }
    flag("tp_comm_overlap", plan.tp_comm_overlap);
    flag("overlap_p2p", plan.overlap_p2p);
    flag("embedding_and_loss_as_layers", plan.embedding_and_loss_as_layers);
    erase(*document.find("plan"), "pipeline_layout");
    if (!plan.pipeline_layout.empty()) {
        word("pipeline_layout", fmt::format("[{}]", fmt::join(plan.pipeline_layout, ", ")));
    }
    for (const auto& [section, key] : {std::pair{"model", "hf_config"},
                                       {"job", "dataset"},
                                       {"job", "checkpoint_folder"},
                                       {"job", "initial_weights"}}) {
        DocumentNode* map = document.find(section);
        DocumentNode* path = map != nullptr && map->is_map() ? map->find(key) : nullptr;
        if (path != nullptr) {
            move_path(*path, from, to);
        }
    }
    return to_yaml(document);
}

}  // namespace orrery
