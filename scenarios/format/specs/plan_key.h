// SPDX-License-Identifier: Apache-2.0
// Keys of the section `plan` in the spelling of overrides and messages.
#pragma once

#include <string>

#include "models/plan/plan_fields.h"

namespace orrery {

// "plan.micro_batch_size"
template <class T>
std::string plan_key(const PlanField<T>& field) {
    return "plan." + std::string{field.name};
}
template <auto kMember>
std::string plan_key() {
    return plan_key(plan_field<kMember>);
}

}  // namespace orrery
