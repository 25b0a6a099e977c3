// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/specs/scenario_keys.h"

#include "scenarios/format/document/read_field.h"
#include "scenarios/format/specs/plan_key.h"

namespace orrery {

std::vector<ScenarioKey> scenario_keys() {
    const ParallelPlan defaults;
    std::vector<ScenarioKey> keys;
    for_each_plan_field([&](const auto& field) {
        ScenarioKey key{.key = plan_key(field),
                        .values = values_text(field),
                        .default_value = {},
                        .use = field.use,
                        .meaning = std::string{field.meaning},
                        .short_name = std::string{field.short_name},
                        .flags = {},
                        .searched = field.searched};
        if (field.use == FieldUse::optional) {
            key.default_value = field_text(field, defaults.*field.member);
        }
        for (const FlagNames& flags : {field.flags, field.translated_flags}) {
            for (const std::string_view flag : flags) {
                if (!flag.empty()) {
                    key.flags.emplace_back(flag);
                }
            }
        }
        keys.push_back(std::move(key));
    });
    return keys;
}

}  // namespace orrery
