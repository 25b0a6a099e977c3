// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/write/write_plan.h"

#include <fmt/format.h>

#include "engine/check.h"
#include "models/plan_fields.h"
#include "scenarios/format/document/overrides.h"
#include "scenarios/format/document/read_field.h"
#include "scenarios/format/document/yaml_document.h"
#include "scenarios/format/specs/plan_key.h"

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
    for_each_plan_field([&](const auto& field) {
        const auto& value = plan.*field.member;
        bool given = true;  // an empty list is what a plan without the key has
        if constexpr (requires { value.empty(); }) {
            given = !value.empty();
        }
        const DocumentNode& keys = *document.find("plan");
        const bool written = field.searched || keys.find(field.name) != nullptr;
        if (written && !given) {
            erase(*document.find("plan"), field.name);
        } else if (written) {
            set(document, plan_key(field), field_text(field, value));
        }
    });
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
