// SPDX-License-Identifier: Apache-2.0
// A supervised job of two places and a spare, with members of shell (shell_member.h).
#pragma once

#include <string>

#include "runtime/supervisor/supervisor.h"
#include "tests/runtime/supervisor/shell_member.h"
#include "tests/test_folder.h"

namespace orrery {

inline SupervisedJob job_of(const TestFolder& folder, const std::string& on_go) {
    SupervisedJob job;
    job.command = shell_member(on_go);
    job.shape = {.slots = 2, .units = 2};
    job.nodes = 3;
    job.policies = {HotSpares{}};
    job.steps = 2;
    job.checkpoint_folder = folder.path();
    job.detection.heartbeat = WallTime::seconds(30);
    job.detection.progress_watchdog = WallTime::seconds(1);
    job.event_file = folder / "events";
    return job;
}

}  // namespace orrery
