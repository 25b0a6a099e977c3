// SPDX-License-Identifier: Apache-2.0
// The state machine that recovers a job. Events with their times go in, actions come out: it reads
// no clock, draws no random numbers and knows nothing of simulations, so a campaign and the
// supervisor of a real job drive the same object, and a recorded log replays to the same actions.
//
//   training ── fault ──▶ (diagnosing) ──▶ (waiting for nodes) ──▶ (checking) ──▶ restarting ──▶
//   training
//      │  └─ slow, warning, notice ──▶ draining ──▶ drained ──────────▲
//
// An incident goes down the ladder of policies; who fails `attempts_max` times in a row calls a
// human, so that no job restarts for ever. Before a restart a policy may have all members tested.
#pragma once

#include <string>
#include <vector>

#include "engine/recovery/recovery_policy.h"

namespace orrery {

struct RecoveryLimits {
    std::uint32_t attempts_max = 5;
    // A failure so soon after the last start is the same incident again.
    WallTime same_incident = WallTime::seconds(900);
    // Wrong numbers so soon after wrong numbers: it did not go back far enough.
    WallTime same_corruption = WallTime::days(2);
    bool operator==(const RecoveryLimits&) const = default;
};

class RecoveryMachine {
public:
    RecoveryMachine(const JobShape& shape,
                    std::uint32_t nodes,
                    PolicyLadder ladder,
                    const RecoveryLimits& limits = {});

    // Before the first observation: the interval between checkpoints.
    std::vector<Action> start();
    // The actions that follow, to be carried out in their order. Times never go back.
    std::vector<Action> observe(const Observation& observation);

    const JobState& state() const { return state_; }
    const PolicyLadder& ladder() const { return ladder_; }
    // Every exchange, while it is wanted.
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
    bool fill_slots();  // false: somebody has to wait
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
    WallTime started_;      // of the present or last training
    bool trained_ = false;  // since the last incident
    bool members_changed_ = false;
    bool filled_ = false;       // by other nodes or peers, since the incident began
    std::uint32_t checks_ = 0;  // since the incident began
    Action restart_;            // what to do when all places are filled
    Observation incident_;      // the one under way
    WallTime interval_;
    std::vector<Action> actions_;
    bool keeps_log_ = false;
    std::vector<RecoveryExchange> log_;
};

}  // namespace orrery
