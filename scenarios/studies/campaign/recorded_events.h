// SPDX-License-Identifier: Apache-2.0
// The event log of a supervised run (runtime/supervisor/event_log.h), read back: what its recovery
// machine heard and ordered. A machine that hears the same must order the same.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/recovery/recovery_machine.h"

namespace orrery {

struct RecordedEvents {
    JobShape shape;
    std::uint32_t nodes = 0;
    std::vector<std::string> policies;
    std::vector<Observation> observations;
    std::string actions;  // a line each
};

ResultOrErrors<RecordedEvents> read_events(const std::filesystem::path& path);
// What a machine with these policies orders that hears the same, a line each.
std::string replay_events(const RecordedEvents& events,
                          PolicyLadder ladder,
                          const RecoveryLimits& limits);

}  // namespace orrery
