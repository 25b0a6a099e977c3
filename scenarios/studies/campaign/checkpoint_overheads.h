// SPDX-License-Identifier: Apache-2.0
// A recovery plan's checkpoint interval beside Young's, Daly's and the optimum, each with its
// expected overhead (closed_forms.h) if every failure restarts the job from the store.
#pragma once

#include <vector>

#include "scenarios/studies/campaign/campaign_answer.h"

namespace orrery {

struct CheckpointOverhead {
    const char* rule = "";   // of --json: "plan", "young"
    const char* words = "";  // of reports: "the plan", "Young (1974)"
    WallTime interval;
    double checkpoints = 0;  // shares of the time
    double failures = 0;

    double overhead() const { return checkpoints + failures; }
};

// The plan's own first. None where nothing stops the job.
std::vector<CheckpointOverhead> checkpoint_overheads(const CampaignAnswer& answer,
                                                     const PlanAnswer& plan);

}  // namespace orrery
