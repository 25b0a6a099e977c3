// SPDX-License-Identifier: Apache-2.0
// The event log of a supervised job, one JSON object a line:
//   {"job": {"nodes": 5, "slots": 4, …}, "policies": ["spares", …]}    first
//   {"t_us": …, "event": "node 2 is process 4711"}                     for people
//   {"t_us": …, "observation": {…}}                                    input of the policies
//   {"t_us": …, "action": "evict node:2"}                              their orders
// A recovery machine with the same policies maps these observations to the same actions, byte for
// byte (scenarios/studies/campaign/recorded_events.h).
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/recovery/recovery_machine.h"

namespace orrery {

class EventLog {
public:
    // With an empty path nothing is written.
    static Result<std::unique_ptr<EventLog>> open(const std::filesystem::path& path);
    virtual ~EventLog() = default;
    virtual void job(const JobShape& shape,
                     std::uint32_t nodes,
                     const std::vector<std::string>& policies) = 0;
    virtual void event(WallTime time, const std::string& text) = 0;
    virtual void exchange(const Observation& observation, const std::vector<Action>& actions) = 0;
};

}  // namespace orrery
