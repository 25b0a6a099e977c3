// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/diff/shown_scenario.h"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/check.h"
#include "models/plan/plan_fields.h"
#include "models/transformer/transformer_fields.h"
#include "scenarios/format/document/overrides.h"
#include "scenarios/format/document/read_field.h"
#include "scenarios/format/read/effective_scenario.h"
#include "scenarios/format/read/reader.h"

namespace orrery {
namespace {

struct Default {
    std::string key;  // "plan.precision"
    std::string value;
};

bool has_map(const DocumentNode& document, std::string_view section) {
    const DocumentNode* map = document.find(section);
    return map != nullptr && map->is_map();
}

template <class Field, class Owner>
void add_default(const Field& field,
                 const std::string& section,
                 const Owner& owner,
                 const DocumentNode& document,
                 std::vector<Default>& defaults) {
    const auto& value = owner.*field.member;
    if constexpr (requires { value.empty(); }) {
        if (value.empty()) {
            return;  // an empty list is the same as no key
        }
    }
    if (field.use != FieldUse::optional || document.find(section)->find(field.name) != nullptr) {
        return;
    }
    std::string text = field_text(field, value);
    if constexpr (requires { field.inverted; } &&
                  std::is_same_v<std::decay_t<decltype(value)>, bool>) {
        text = field_text(field, value != field.inverted);
    }
    defaults.push_back({section + "." + std::string{field.name}, std::move(text)});
}

std::vector<Default> defaults_of(const Scenario& scenario, const DocumentNode& document) {
    std::vector<Default> defaults;
    if (has_map(document, "model")) {
        for_each_model_field([&](const auto& field) {
            add_default(field, "model", scenario.model, document, defaults);
        });
    }
    if (has_map(document, "plan")) {
        for_each_plan_field([&](const auto& field) {
            add_default(field, "plan", scenario.plan, document, defaults);
        });
    }
    return defaults;
}

DocumentNode with_defaults(DocumentNode document, const std::vector<Default>& defaults) {
    for (DocumentNode& key : document.keys) {
        key.is_string = false;  // no key of a scenario needs quotes
    }
    for (const Default& one : defaults) {
        Errors errors;
        apply_override(document, one.key + "=" + one.value, errors);
        ORRERY_CHECK(errors.empty());
        const std::size_t dot = one.key.find('.');
        DocumentNode* section = document.find(one.key.substr(0, dot));
        section->find(one.key.substr(dot + 1))->remark = kDefaultRemark;
    }
    return document;
}

}  // namespace

DocumentNode shown_scenario(const Scenario& scenario) {
    const ScenarioOrigin& origin = *scenario.origin;
    std::vector<Default> defaults = defaults_of(scenario, origin.effective);
    ReadOptions read;
    read.several_jobs = true;
    read.network_only = !has_map(origin.effective, "plan");
    // A default may be invalid beside another key's value, as recompute_method without full
    // recomputation. The reader reports such defaults, and they are left out.
    while (!defaults.empty()) {
        const auto again = read_effective_scenario(
            with_defaults(origin.effective, defaults), origin.file, origin, read);
        if (again) {
            break;
        }
        const auto refused = [&](const Default& one) {
            return std::ranges::any_of(again.error(), [&](const Error& error) {
                return error.where == "--set " + one.key;
            });
        };
        if (std::erase_if(defaults, refused) == 0) {
            defaults.clear();
        }
    }
    return with_defaults(origin.effective, defaults);
}

}  // namespace orrery
