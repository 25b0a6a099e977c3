// SPDX-License-Identifier: Apache-2.0
// The keys of the section `plan` as overrides and messages name them.
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
