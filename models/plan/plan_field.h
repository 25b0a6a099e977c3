// SPDX-License-Identifier: Apache-2.0
// A row of the table of ParallelPlan's fields (models/plan/plan_fields.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/base/field.h"
#include "models/plan/plan.h"

namespace orrery {

// The smallest part of a step whose ops or host time a field shapes. If a row names a smaller part
// than necessary, caches hold equal entries. If it names a larger part, caches return times of
// another plan.
enum class PlanScope : std::uint8_t {
    pass,   // a chunk's forward or backward pass of one micro-batch
    chunk,  // the work of a chunk outside its passes: gradients, gathered weights, optimizer
    step,   // only the order of the passes and the messages between them
};

template <class T>
struct PlanField {
    std::string_view name;
    T ParallelPlan::*member;
    PlanScope scope;
    FieldUse use = FieldUse::optional;
    std::string_view meaning;  // one sentence
    typename FieldValues<T>::Type values{};
    std::string_view unit{};        // of numbers
    std::string_view short_name{};  // the literature's abbreviation, for tables: "tp"
    bool searched = false;          // `orrery search` varies it
    // Megatron-LM's flags that have the field's value. For a switch, a flag that begins with
    // "--no-" or "--disable-" turns it off, and any other turns it on.
    FlagNames flags{};
    FlagNames translated_flags{};  // flags whose value must be translated
};

// A row of the table; `of` is its PlanScope, the rest its designated members.
#define ORRERY_PLAN_FIELD(field, of, ...)                                                   \
    PlanField<decltype(ParallelPlan::field)> {                                              \
        .name = #field, .member = &ParallelPlan::field, .scope = PlanScope::of, __VA_ARGS__ \
    }

// Sizes and numbers of ranks.
inline constexpr IntegerRange kPlanSizes{1, 4'000'000};

}  // namespace orrery
