// SPDX-License-Identifier: Apache-2.0
// A recovery policy is a small class that answers some of the questions of an incident. Policies
// form a ladder: each question goes to them in order, and the first answer counts. Policies keep no
// state; the history is in the JobState. If no policy answers, the machine (recovery_machine.h) has
// a default: restart from the remote checkpoint and wait for nodes.
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

// The texts about a policy that users read.
struct PolicyWords {
    std::string_view name;            // on a ladder, and in reports
    std::string_view meaning{};       // one sentence
    std::string_view does_not_cover;  // the cases that it leaves to other policies
    std::string_view excludes{};      // the policy that may not be on the same ladder
    std::string_view why_excluded{};
    bool in_real_runs = true;  // the supervisor of a real run can execute its actions
};

// A knob with an impossible value.
struct PolicyMisfit {
    std::string_view knob;
    std::string what;
    std::string hint;
};

// Facts of the scenario that replace a knob's default.
struct PolicySetting {
    ClusterShape cluster;
    // Share of a step to compute the next stage's forward pass, beyond the bubbles
    double redundant_overhead = 0;
    double network_share = 1;  // share of a step in communication that computation does not hide
};

// The number of spares: `count`, or enough for the failures within `window` with probability
// `quantile` (0: the mean repair time).
struct SpareRule {
    std::optional<std::uint32_t> count;
    double quantile = 0.99;
    WallTime window;
};

// A test of all members before a restart of a campaign.
struct MemberTest {
    WallTime duration;
    double finds = 1;  // probability that a sick or slow node fails it
    // Probability that a failure names the node, not the other side of a pair
    double localises = 1;
    double false_positive = 0;  // probability that a healthy node also fails it
};

// The second path of a node that has lost one of its network paths.
struct Detour {
    WallTime stall;       // until traffic has moved to the other path
    double slowdown = 1;  // of the job's step
};

class RecoveryPolicy {
public:
    virtual ~RecoveryPolicy() = default;

    virtual const PolicyWords& words() const = 0;
    std::string_view name() const { return words().name; }
    std::string_view does_not_cover() const { return words().does_not_cover; }

    // Facts that determine the size and the costs of the job in a campaign. The first answer on the
    // ladder counts.

    // A knob's value that is impossible with the job's number of data-parallel replicas (the
    // argument).
    virtual std::optional<PolicyMisfit> misfit(std::int64_t) const { return {}; }
    virtual std::optional<SpareRule> spares() const { return {}; }
    // The least number of data-parallel units that the job may shrink to.
    virtual std::optional<std::uint32_t> least_units() const { return {}; }
    // The placement of copies of a node's state in other nodes' memories.
    virtual std::optional<PeerPlacement> copies() const { return {}; }
    // Whether a restart uses the state in the survivors' own memories.
    virtual bool keeps_own_state(const JobShape&) const { return false; }
    virtual bool drains_slow_nodes() const { return false; }
    virtual std::optional<double> replayed_share() const { return {}; }  // share of the steps
    virtual std::optional<MemberTest> test() const { return {}; }
    virtual std::optional<double> step_overhead() const { return {}; }
    virtual std::optional<WallTime> failover_time() const { return {}; }
    virtual std::optional<Detour> detour() const { return {}; }

    // Answers to the questions of an incident.

    // Whether to restart the processes on their nodes without a diagnosis.
    virtual bool restarts_in_place(const Observation&, const JobState&) const { return false; }
    // Adds the nodes that leave together with the given ones.
    virtual void widen(const JobState&, std::vector<NodeNumber>&) const {}
    // The action for an open slot: replace, drop, reroute or take_over.
    virtual std::optional<Action> fill(const JobState&, std::uint32_t) const { return {}; }
    // The source of the state after a change of this extent.
    virtual std::optional<RestoreSource> restore(const Observation&,
                                                 const JobState&,
                                                 RestartExtent) const {
        return {};
    }
    // The action for a slow node, a warning or a notice while the job trains.
    virtual std::optional<Action> foresee(const Observation&, const JobState&) const { return {}; }
    // The step to return to, and whether to skip batches, if the numbers are wrong.
    virtual std::optional<Action> roll_back(const Observation&, const JobState&) const {
        return {};
    }
    // The most tests of all members before the restart after this incident.
    virtual std::uint32_t checks(const Observation&) const { return 0; }
    // Whether to give nodes back to a job that runs without them.
    virtual bool regrows(const JobState&) const { return false; }
    // The training time between checkpoints.
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

// The remaining members hold the whole state if no rank has a part of it alone.
inline std::optional<RestoreSource> state_of_survivors(const JobState& state,
                                                       RestartExtent extent) {
    const bool whole = extent == RestartExtent::members && !state.shape.state_sharded;
    return whole ? std::optional{RestoreSource::live} : std::nullopt;
}

}  // namespace orrery
