// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor.h"

namespace orrery {

Result<void> Executor::run(Walk walk) {
    std::unique_ptr<LaunchPlan>& plan = plans_[static_cast<std::size_t>(walk)];
    if (!plan) {
        plan = std::make_unique<LaunchPlan>(plan_launches(rank_, walk));
    }
    return run_launches(walk, *plan);
}

}  // namespace orrery
