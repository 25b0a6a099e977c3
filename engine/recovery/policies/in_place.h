// SPDX-License-Identifier: Apache-2.0
// Processes restart on the same nodes first, up to `attempts` times (NVRx, Unicron).
#pragma once

#include <tuple>

#include "engine/recovery/policies/knob.h"
#include "engine/recovery/recovery_policy.h"

namespace orrery {

struct InPlaceRestart {
    std::uint32_t attempts = 1;
    bool operator==(const InPlaceRestart&) const = default;

    static constexpr PolicyWords kWords{.name = "in_place",
                                        .meaning = "Restart processes on the same nodes first.",
                                        .does_not_cover = "persistent hardware faults"};
    static constexpr auto knobs() {
        return std::tuple{knob<&InPlaceRestart::attempts>(
                              "attempts", "Restarts in place before nodes are replaced.")
                              .range(1, 100)};
    }

    bool restarts_in_place(const Observation& o, const JobState& state) const {
        // A node that does not answer cannot restart its processes.
        return info(o.fault).symptom != Symptom::silence && state.attempt <= attempts;
    }
};

}  // namespace orrery
