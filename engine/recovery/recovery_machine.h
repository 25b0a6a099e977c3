// SPDX-License-Identifier: Apache-2.0
// The state machine that recovers a job. It maps observations with their times to actions. It reads
// no clock, draws no random numbers and knows nothing of simulations. A campaign and the supervisor
// of a real job therefore drive the same class, and a recorded log replays to the same actions.
//
//   training ── fault ──▶ (diagnosing) ──▶ (waiting for nodes) ──▶ (checking) ──▶ restarting ──▶
//   training
//      │  └─ slow, warning, notice ──▶ draining ──▶ drained ──────────▲
//
// An incident is offered to each policy on the ladder in turn. After `attempts_max` failures in a
// row the machine calls a person, so that no job restarts for ever. A policy may have all members
// tested before a restart.
#pragma once

#include <string>
#include <vector>

#include "engine/recovery/recovery_policy.h"

namespace orrery {

struct RecoveryLimits {
    std::uint32_t attempts_max = 5;
    // A failure this soon after the last start counts as the same incident.
    WallTime same_incident = WallTime::seconds(900);
    // Wrong numbers this soon after the last ones: the rollback did not go back far enough.
    WallTime same_corruption = WallTime::days(2);
    bool operator==(const RecoveryLimits&) const = default;
};

class RecoveryMachine {
public:
    RecoveryMachine(const JobShape& shape,
                    std::uint32_t nodes,
                    PolicyLadder ladder,
                    const RecoveryLimits& limits = {});

    // The actions before the first observation: the interval between checkpoints.
    std::vector<Action> start();
    // The actions that follow an observation, in the order of execution. Times must not go back.
    std::vector<Action> observe(const Observation& observation);

    const JobState& state() const { return state_; }
    const PolicyLadder& ladder() const { return ladder_; }
    // Whether to record every exchange in log().
    void keep_log(bool keep) { keeps_log_ = keep; }
    const std::vector<RecoveryExchange>& log() const { return log_; }

private:
    enum class Phase : std::uint8_t {
        training,
        diagnosing,
        waiting,
        checking,
        restarting,
        draining
    };

    void on_training(const Observation& o);
    void on_fault(const Observation& o);
    void on_corruption(const Observation& o);
    void on_foresight(const Observation& o);
    void on_drained(const Observation& o);
    void on_ready(const Observation& o);
    void on_checked(const Observation& o);
    void begin_incident(const Observation& o);
    void regrow(const Observation& o);
    void count_attempt(const Observation& o);
    void replace_and_restart(const Observation& o, Action restart);
    void evict(std::vector<NodeNumber> nodes);
    bool restarts_in_place(const Observation& o) const;
    bool fill_slots();  // false: the job has to wait for nodes
    void finish(const Observation& o, const Action& restart);
    bool has_to_check() const;
    void restart_now(const Observation& o, Action restart);
    void set_interval();

    JobState state_;
    PolicyLadder ladder_;
    RecoveryLimits limits_;
    Phase phase_ = Phase::restarting;
    bool corrupt_once_ = false;
    WallTime corrupt_last_;
    WallTime started_;      // of the current or last training
    bool trained_ = false;  // since the last incident
    bool members_changed_ = false;
    bool filled_ = false;  // slots were filled by other nodes or peers since the incident began
    std::uint32_t checks_ = 0;  // tests since the incident began
    Action restart_;            // the restart to order when all slots are filled
    Observation incident_;      // the current incident
    WallTime interval_;
    std::vector<Action> actions_;
    bool keeps_log_ = false;
    std::vector<RecoveryExchange> log_;
};

}  // namespace orrery
