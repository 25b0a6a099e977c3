// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/write/write_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/check.h"
#include "models/plan/plan_fields.h"
#include "scenarios/format/document/overrides.h"
#include "scenarios/format/document/read_field.h"
#include "scenarios/format/document/yaml_document.h"
#include "scenarios/format/provenance/version.h"
#include "scenarios/format/read/effective_scenario.h"
#include "scenarios/format/read/key_tables.h"
#include "scenarios/format/read/scenario_keys.h"
#include "scenarios/format/specs/plan_key.h"

namespace orrery {
namespace {

void set(DocumentNode& document, const std::string& key, std::string_view value) {
    Errors errors;
    apply_override(document, fmt::format("{}={}", key, value), errors);
    ORRERY_CHECK(errors.empty());
}

void move_path(DocumentNode& node,
               const std::filesystem::path& from,
               const std::filesystem::path& to) {
    if (node.is_sequence()) {
        for (DocumentNode& item : node.items) {
            move_path(item, from, to);
        }
    } else if (node.is_scalar() && !node.text.empty() && !is_table_text(node.text) &&
               std::filesystem::path{node.text}.is_relative()) {
        std::error_code ignored;
        const auto target = std::filesystem::absolute(from / node.text, ignored);
        const auto folder = std::filesystem::absolute(to, ignored);
        const auto relative =
            target.lexically_normal().lexically_relative((folder / "").lexically_normal());
        node.text = (relative.empty() ? target : relative).string();
    }
}

// Calls `move` for all keys of a map that are paths.
void move_paths(DocumentNode& node,
                const KeyMap& map,
                const std::filesystem::path& from,
                const std::filesystem::path& to) {
    if (node.is_sequence()) {
        for (DocumentNode& item : node.items) {
            move_paths(item, map, from, to);
        }
    }
    for (const ScenarioKey& key : node.is_map() ? keys_of(map, "") : std::vector<ScenarioKey>{}) {
        DocumentNode* value = node.find(key.key);
        if (value != nullptr && key.shape == KeyShape::path) {
            move_path(*value, from, to);
        } else if (value != nullptr && key.inner != nullptr) {
            move_paths(*value, *key.inner, from, to);
        }
    }
}

// Where a written scenario comes from, for its head.
std::vector<std::string> origin_of(const DocumentNode& document) {
    const std::string from =
        document.source ? std::filesystem::path{*document.source}.filename().string() : "a text";
    return {fmt::format(
        "Written by orrery search, version {}, from {}.", build_identity().version, from)};
}

}  // namespace

std::string scenario_with_plan(DocumentNode document,
                               const ParallelPlan& plan,
                               const std::vector<std::pair<std::string, std::string>>& cluster,
                               const std::filesystem::path& from,
                               const std::filesystem::path& to) {
    erase_key(document, "search");
    for (const auto& [key, value] : cluster) {
        set(document, "cluster." + key, value);
    }
    for_each_plan_field([&](const auto& field) {
        const auto& value = plan.*field.member;
        bool given = true;  // an empty list equals a plan without the key
        if constexpr (requires { value.empty(); }) {
            given = !value.empty();
        }
        const DocumentNode& keys = *document.find("plan");
        const bool written = field.searched || keys.find(field.name) != nullptr;
        if (written && !given) {
            erase_key(*document.find("plan"), field.name);
        } else if (written) {
            set(document, plan_key(field), field_text(field, value));
        }
    });
    move_paths(document, kScenarioKeys, from, to);
    return to_yaml(document, origin_of(document));
}

std::string scenario_with_pools(DocumentNode document,
                                const std::vector<ServingPoolSpec>& pools,
                                const std::filesystem::path& from,
                                const std::filesystem::path& to) {
    erase_key(document, "search");
    DocumentNode& serving = *document.find("serving");
    const DocumentNode* given = serving.find("pools");
    DocumentNode list{.kind = DocumentNode::Kind::sequence};
    for (std::size_t i = 0; i < pools.size(); ++i) {
        DocumentNode pool{.kind = DocumentNode::Kind::map};
        if (given != nullptr) {
            pool =
                given->is_sequence() ? given->items[std::min(i, given->items.size() - 1)] : *given;
        }
        const auto write = [&](const char* key, std::string value) {
            pool.set(scalar_node(key), scalar_node(std::move(value)));
        };
        const ServingPlan& plan = pools[i].plan;
        write("role", std::string{name(pools[i].role)});
        write("instances", std::to_string(pools[i].instances));
        write("tensor_model_parallel_size", std::to_string(plan.tensor_model_parallel_size));
        write("pipeline_model_parallel_size", std::to_string(plan.pipeline_model_parallel_size));
        list.items.push_back(std::move(pool));
    }
    serving.set(scalar_node("pools"), std::move(list));
    move_paths(document, kScenarioKeys, from, to);
    return to_yaml(document, origin_of(document));
}

}  // namespace orrery
