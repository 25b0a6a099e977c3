// SPDX-License-Identifier: Apache-2.0
// After wrong numbers the job goes back `checkpoints` checkpoints, further each time, and skips the
// batches since then.
#pragma once

#include <algorithm>
#include <tuple>

#include "engine/recovery/policies/knob.h"
#include "engine/recovery/recovery_policy.h"

namespace orrery {

struct RollbackAndSkip {
    std::uint32_t checkpoints = 1;
    bool operator==(const RollbackAndSkip&) const = default;

    static constexpr PolicyWords kWords{.name = "rollback",
                                        .meaning = "Wrong numbers: go back and skip batches.",
                                        .does_not_cover = "hardware that stays in the job"};
    static constexpr auto knobs() {
        return std::tuple{
            knob<&RollbackAndSkip::checkpoints>("checkpoints", "Checkpoints to go back.")
                .range(1, 1000)};
    }

    std::optional<Action> roll_back(const Observation& o, const JobState& state) const {
        // Twice as far after each failure in a row.
        const std::uint32_t again = std::clamp(state.attempt, 1U, 20U) - 1;
        const std::int64_t back = std::int64_t{checkpoints} << again;
        return Action{
            .kind = ActionKind::restart,
            .step_max = o.durable_step,
            .checkpoints_back = static_cast<std::uint32_t>(std::min<std::int64_t>(back, 1'000'000)),
            .skip_batches = true};
    }
};

}  // namespace orrery
