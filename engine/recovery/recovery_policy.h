// SPDX-License-Identifier: Apache-2.0
// A recovery policy is a small class with an opinion on some of the questions that an incident
// raises. Policies stand on a ladder: each question goes to them in order, and the first answer
// counts. They hold no state of their own; what happened so far is in the JobState. The machine
// that asks (recovery_machine.h) answers a question itself if no policy does: restart from the
// remote checkpoint and wait for nodes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/faults/component.h"
#include "engine/recovery/job_state.h"
#include "engine/recovery/messages.h"
#include "engine/recovery/peer_placement.h"

namespace orrery {

// What users read of a policy.
struct PolicyWords {
    std::string_view name;            // in a ladder, and in reports
    std::string_view meaning{};       // one sentence
    std::string_view does_not_cover;  // what it leaves to others
    std::string_view excludes{};      // the policy that cannot stand on the same ladder
    std::string_view why_excluded{};
    bool in_real_runs = true;  // the supervisor of a real run carries its actions out
};

// A knob whose value cannot be.
struct PolicyMisfit {
    std::string_view knob;
    std::string what;
    std::string hint;
};

// What the scenario knows better than a knob's default.
struct PolicySetting {
    ClusterShape cluster;
    double redundant_overhead = 0;  // of computing the next stage's forward pass in the bubbles
    double network_share = 1;       // of a step, that computation does not hide
};

// How many spares there are: `count`, or enough with probability `quantile` for what fails within
// `window` (0: the mean time of a repair).
struct SpareRule {
    std::optional<std::uint32_t> count;
    double quantile = 0.99;
    WallTime window;
};

// A test of all members before a restart, in a campaign.
struct MemberTest {
    WallTime duration;
    double finds = 1;           // probability that a sick or slow node fails it
    double localises = 1;       // … and not the other side of a pair
    double false_positive = 0;  // that a healthy node fails it besides
};

// The other way of a node that has lost one of its ways out.
struct Detour {
    WallTime stall;       // until traffic has moved
    double slowdown = 1;  // of the job's step
};

class RecoveryPolicy {
public:
    virtual ~RecoveryPolicy() = default;

    virtual const PolicyWords& words() const = 0;
    std::string_view name() const { return words().name; }
    std::string_view does_not_cover() const { return words().does_not_cover; }

    // Facts that size the job and price it in a campaign. The first answer on the ladder counts.

    // A value that the job's number of data-parallel replicas forbids.
    virtual std::optional<PolicyMisfit> misfit(std::int64_t) const { return {}; }
    virtual std::optional<SpareRule> spares() const { return {}; }
    // Data-parallel units that the job may shrink to.
    virtual std::optional<std::uint32_t> least_units() const { return {}; }
    // Where copies of a node's state are kept in other nodes' memories.
    virtual std::optional<PeerPlacement> copies() const { return {}; }
    // Whether a restart takes the state from the survivors' own memories.
    virtual bool keeps_own_state(const JobShape&) const { return false; }
    virtual bool drains_slow_nodes() const { return false; }
    virtual std::optional<double> replayed_share() const { return {}; }  // of the steps
    virtual std::optional<MemberTest> test() const { return {}; }
    virtual std::optional<double> step_overhead() const { return {}; }
    virtual std::optional<WallTime> failover_time() const { return {}; }
    virtual std::optional<Detour> detour() const { return {}; }

    // Answers to the questions of an incident.

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

// The first answer on the ladder to a question about facts.
template <class T>
std::optional<T> first_answer(const PolicyLadder& ladder,
                              std::optional<T> (RecoveryPolicy::*question)() const) {
    for (const auto& policy : ladder) {
        if (std::optional<T> answer = ((*policy).*question)()) {
            return answer;
        }
    }
    return {};
}

// Members that go on hold the whole state if no rank has a part of it alone.
inline std::optional<RestoreSource> state_of_survivors(const JobState& state,
                                                       RestartExtent extent) {
    const bool whole = extent == RestartExtent::members && !state.shape.state_sharded;
    return whole ? std::optional{RestoreSource::live} : std::nullopt;
}

}  // namespace orrery
