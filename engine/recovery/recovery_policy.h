// SPDX-License-Identifier: Apache-2.0
// A recovery policy is a small class with an opinion on some of the questions that an incident
// raises. Policies stand on a ladder: each question goes to them in order, and the first answer
// counts. They hold no state of their own; what happened so far is in the JobState. The machine
// that asks (recovery_machine.h) answers a question itself if no policy does: restart from the
// remote checkpoint and wait for nodes.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/recovery/job_state.h"
#include "engine/recovery/messages.h"

namespace orrery {

class RecoveryPolicy {
public:
    virtual ~RecoveryPolicy() = default;

    virtual std::string_view name() const = 0;
    // What it leaves to others, for the report.
    virtual std::string_view does_not_cover() const = 0;

    // Start the processes again where they are, without looking for what is sick?
    virtual bool restarts_in_place(const Observation&, const JobState&) const { return false; }
    // Who else has to go with these nodes.
    virtual void widen(const JobState&, std::vector<NodeNumber>&) const {}
    // What becomes of an open slot: replace, drop, reroute or take_over.
    virtual std::optional<Action> fill(const JobState&, std::uint32_t) const { return {}; }
    // Where the state comes from after a change of this extent.
    virtual std::optional<RestoreSource> restore(const Observation&,
                                                 const JobState&,
                                                 RestartExtent) const {
        return {};
    }
    // A slow node, a warning or a notice, while the job still trains.
    virtual std::optional<Action> foresee(const Observation&, const JobState&) const { return {}; }
    // Which step to go back to, and whether to skip batches, when the numbers are wrong.
    virtual std::optional<Action> roll_back(const Observation&, const JobState&) const {
        return {};
    }
    // How often, at most, all members are tested before the restart after this incident.
    virtual std::uint32_t checks(const Observation&) const { return 0; }
    // Give a node back to a job that goes on without one?
    virtual bool regrows(const JobState&) const { return false; }
    // Time of training between checkpoints.
    virtual std::optional<WallTime> interval(const JobState&) const { return {}; }
};

using PolicyLadder = std::vector<std::unique_ptr<const RecoveryPolicy>>;

}  // namespace orrery
