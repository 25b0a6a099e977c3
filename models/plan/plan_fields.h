// SPDX-License-Identifier: Apache-2.0
// The table of ParallelPlan's fields. From it follow the keys of the section `plan` with their
// reader and writer, `orrery keys plan`, the names of `search` and of its results, the columns of
// tables, and Megatron-LM's flags. Keys of caches follow from it, too: the key of a part of a plan
// is the plan with all fields reset that the part does not depend on.
//
// A new key needs a member of ParallelPlan with its default (models/plan/plan.h), a row in one of
// the four files below, its words, if it has any, in models/plan/plan_words.h, and its effect. A
// member without a row does not compile. Rules between keys are in models/plan/validate_plan.cpp.
// tests/fields demands a row that shows the effect.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "engine/base/field.h"
#include "engine/base/has_fields.h"
#include "models/plan/expert_fields.h"
#include "models/plan/framework_fields.h"
#include "models/plan/gradient_fields.h"
#include "models/plan/parallelism_fields.h"
#include "models/plan/plan.h"
#include "models/plan/plan_field.h"

namespace orrery {

// Rows that belong together stand in one file; a row's place here is its place in every list.
inline constexpr auto kPlanFields = joined(joined(kPlanParallelismFields, kPlanFrameworkFields),
                                           joined(kPlanExpertFields, kPlanGradientFields));
#undef ORRERY_PLAN_FIELD

// The row of a field: plan_field<&ParallelPlan::schedule>.
template <auto kMember>
inline constexpr const auto& plan_field = kRowOf<kPlanFields, kMember>;

inline constexpr std::size_t kNumPlanFields = decltype(kPlanFields)::kSize;

// Calls `visit(field)` for each PlanField.
template <class Visit>
constexpr void for_each_plan_field(Visit visit) {
    kPlanFields.each(visit);
}

constexpr bool plan_fields_differ() {
    std::array<std::string_view, kNumPlanFields> names{};
    std::size_t known = 0;
    bool differ = true;
    for_each_plan_field([&](const auto& field) {
        for (std::size_t i = 0; i < known; ++i) {
            differ = differ && names[i] != field.name;
        }
        names[known++] = field.name;
    });
    return differ;
}
static_assert(has_fields<ParallelPlan, kNumPlanFields>(), "a field of ParallelPlan has no row");
static_assert(plan_fields_differ(), "a field of ParallelPlan has two rows");

// The plan with all fields of a wider scope than `scope` at their defaults.
inline ParallelPlan within(ParallelPlan plan, PlanScope scope) {
    const ParallelPlan defaults;
    for_each_plan_field([&](const auto& field) {
        if (field.scope > scope) {
            plan.*field.member = defaults.*field.member;
        }
    });
    return plan;
}

}  // namespace orrery
