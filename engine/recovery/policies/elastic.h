// SPDX-License-Identifier: Apache-2.0
// The job continues without the data-parallel units that lost a node, and takes them back later.
#pragma once

#include <algorithm>
#include <string>
#include <tuple>

#include "engine/recovery/policies/knob.h"
#include "engine/recovery/recovery_policy.h"

namespace orrery {

struct ElasticDataParallel {
    std::uint32_t units_min = 1;
    bool operator==(const ElasticDataParallel&) const = default;

    static constexpr PolicyWords kWords{
        .name = "elastic",
        .meaning = "Go on with fewer data-parallel replicas.",
        .does_not_cover = "state that only the lost unit held; the last unit",
        .excludes = "reroute",
        .why_excluded = "both go on without a lost node"};
    static constexpr auto knobs() {
        return std::tuple{knob<&ElasticDataParallel::units_min>(
                              "units_min", "Least number of data-parallel replicas.")
                              .range(1, 1'000'000)
                              .of("replicas")};
    }

    // With units_min above the number of replicas the job could never run.
    std::optional<PolicyMisfit> misfit(std::int64_t replicas) const {
        if (units_min <= replicas) {
            return {};
        }
        return PolicyMisfit{
            .knob = "units_min",
            .what = "elastic.units_min is " + std::to_string(units_min) + ", and the plan has " +
                    std::to_string(replicas) + " data-parallel replicas",
            .hint = "1 to " + std::to_string(std::max<std::int64_t>(1, replicas - 1))};
    }
    std::optional<std::uint32_t> least_units() const { return std::max(1U, units_min); }
    bool keeps_own_state(const JobShape& shape) const { return !shape.state_sharded; }

    std::optional<Action> fill(const JobState& state, std::uint32_t slot) const {
        const std::vector<std::uint32_t> gone = state.dropped_units();
        const bool is_gone =
            std::binary_search(gone.begin(), gone.end(), state.shape.unit_of(slot));
        const std::size_t lost = gone.size() + (is_gone ? 0 : 1);
        if (state.shape.units < lost + std::max(1U, units_min)) {
            return {};
        }
        return Action{.kind = ActionKind::drop};
    }
    std::optional<RestoreSource> restore(const Observation&,
                                         const JobState& state,
                                         RestartExtent extent) const {
        return state_of_survivors(state, extent);
    }
    bool regrows(const JobState&) const { return true; }
};

}  // namespace orrery
