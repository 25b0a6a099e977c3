// SPDX-License-Identifier: Apache-2.0
// Reads the event log of a supervised run (runtime/supervisor/event_log.h): the observations and
// orders of its recovery machine. A machine with the same observations must give the same orders.
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
    std::string actions;  // one line each
};

ResultOrErrors<RecordedEvents> read_events(const std::filesystem::path& path);
// The orders of a machine with these policies for the same observations, one line each.
std::string replay_events(const RecordedEvents& events,
                          PolicyLadder ladder,
                          const RecoveryLimits& limits);

}  // namespace orrery
