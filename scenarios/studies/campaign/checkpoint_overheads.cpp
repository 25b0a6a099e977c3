// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/campaign/checkpoint_overheads.h"

#include "engine/recovery/closed_forms.h"
#include "engine/recovery/policies/checkpoint_interval.h"

namespace orrery {

std::vector<CheckpointOverhead> checkpoint_overheads(const CampaignAnswer& answer,
                                                     const PlanAnswer& plan) {
    if (answer.mtbf_h <= 0) {
        return {};
    }
    const CheckpointTiming& times = plan.checkpoint;
    const WallTime mtbf = WallTime::seconds(answer.mtbf_h * 3600);
    // A restart costs its processes and the load, and the work during the copy of the last
    // checkpoint, which was not yet durable.
    const double restart =
        (plan.costs.restart_full + plan.costs.load_remote + times.copy).seconds();
    const auto of = [&](const char* rule, const char* words, WallTime interval) {
        const double work = interval.seconds();
        const double stall = times.stall.seconds();
        const double whole = segment_time_s(mtbf.seconds(), stall, restart, work);
        return CheckpointOverhead{.rule = rule,
                                  .words = words,
                                  .interval = interval,
                                  .checkpoints = stall / whole,
                                  .failures = 1 - (work + stall) / whole};
    };
    const auto interval = [&](IntervalRule rule) {
        return interval_of(
            {.rule = rule, .stall = times.stall, .least = times.copy, .step = answer.step}, mtbf);
    };
    return {of("plan", "the plan", plan.interval),
            of("young", "Young (1974)", interval(IntervalRule::young)),
            of("daly", "Daly (2006)", interval(IntervalRule::daly)),
            of("exact", "exact optimum", interval(IntervalRule::exact))};
}

}  // namespace orrery
