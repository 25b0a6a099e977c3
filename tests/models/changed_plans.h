// SPDX-License-Identifier: Apache-2.0
// Plans that differ from a given one in a single field, for each field in turn: what a test of
// "no field is forgotten" goes through.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "models/plan/plan_fields.h"
#include "models/plan/validate_plan.h"
#include "models/transformer/transformer.h"

namespace orrery::testing {

// Other values of a field. A field of a type that is not here does not compile.
inline std::vector<bool> other_values(bool value) {
    return {!value};
}
inline std::vector<std::int64_t> other_values(std::int64_t value) {
    return {value * 2, value / 2, 2, 4, 100};
}
inline std::vector<double> other_values(double value) {
    return {value * 2, value / 2, 0.5};
}
// Of recompute_modules: each by itself, and pairs.
inline std::vector<std::uint32_t> other_values(std::uint32_t) {
    std::vector<std::uint32_t> all;
    for (const ModuleRow& row : kModuleRows) {
        all.push_back(static_cast<std::uint32_t>(row.value));
    }
    all.insert(all.end(), {3, 6});
    return all;
}
inline std::vector<std::vector<std::int64_t>> other_values(const std::vector<std::int64_t>&) {
    return {{1, 3, 3, 1}, {3, 5}, {5, 3}, {1, 2, 2, 3}, {2, 1}, {1, 2}, {2, 1, 1}};
}
template <class Enum>
requires std::is_enum_v<Enum> std::vector<Enum> other_values(Enum value) {
    std::vector<Enum> all;
    for (int i = 0; i < 8; ++i) {  // those beyond the last are no valid plan
        all.push_back(static_cast<Enum>(i));
    }
    std::erase(all, value);
    return all;
}

// Enumerators that exist; others are no plan at all.
inline bool exists(const ParallelPlan& plan) {
    bool all = true;
    for_each_plan_field([&](const auto& field) {
        using T = std::remove_cvref_t<decltype(plan.*field.member)>;
        if constexpr (std::is_same_v<T, Dtype>) {
            all = all && static_cast<std::size_t>(plan.*field.member) < kNumDtypes;
        } else if constexpr (std::is_enum_v<T>) {
            all = all && !word_of(plan.*field.member, field.values).empty();
        } else if constexpr (std::is_same_v<T, std::uint32_t>) {
            std::uint32_t unknown = plan.*field.member;
            for (const auto& choice : field.values) {
                unknown &= ~choice.value;
            }
            all = all && unknown == 0;
        } else if constexpr (std::is_same_v<T, double>) {
            const double value = plan.*field.member;
            all = all && value >= field.values.least && value <= field.values.most;
        }
    });
    return all;
}

// Calls `visit(name of the field, plan)` for each changed plan that is valid for the model on as
// many GPUs as the base has. data_parallel_size follows from the other sizes.
inline void for_each_changed_plan(
    const Transformer& model,
    const ParallelPlan& base,
    const std::function<void(std::string_view, const ParallelPlan&)>& visit) {
    const std::int64_t gpus = base.model_parallel_size() * base.data_parallel_size;
    for_each_plan_field([&](const auto& field) {
        for (const auto& value : other_values(base.*field.member)) {
            ParallelPlan plan = base;
            plan.*field.member = value;
            plan.data_parallel_size = derived_data_parallel_size(plan, gpus);
            if (plan != base && exists(plan) && check(model, plan, gpus).empty()) {
                visit(field.name, plan);
            }
        }
    });
}

}  // namespace orrery::testing
