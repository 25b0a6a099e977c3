// SPDX-License-Identifier: Apache-2.0
#include "engine/recovery/recovery_machine.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/recovery/policies/policies.h"

namespace orrery {
namespace recovery_machine_test {

const JobShape kShape{.slots = 8, .units = 4, .stages = 2};

class Drill {
public:
    Drill(const JobShape& shape, std::uint32_t nodes, const std::vector<PolicySpec>& policies)
        : machine(shape, nodes, make_ladder(policies)) {
        hear({.kind = ObservationKind::training_started});
    }
    // The lines of the actions that follow.
    std::vector<std::string> hear(Observation o) {
        time += WallTime::hours(1);
        o.time = time;
        std::vector<std::string> lines;
        for (const Action& action : machine.observe(o)) {
            lines.push_back(to_line(action));
        }
        return lines;
    }
    std::vector<std::string> loses(std::vector<NodeNumber> nodes, std::int64_t memory = -1) {
        return hear({.kind = ObservationKind::fault_detected,
                     .detector = Detector::heartbeat,
                     .fault = FaultKind::node_crash,
                     .nodes = std::move(nodes),
                     .step = 100,
                     .durable_step = 50,
                     .memory_step = memory});
    }
    RecoveryMachine machine;
    WallTime time;
};

using Lines = std::vector<std::string>;

TEST(RecoveryMachine, WithoutPoliciesItWaitsForNodesAndReadsTheStore) {
    Drill drill{kShape, 8, {}};
    EXPECT_EQ(drill.loses({3}), (Lines{"evict node:3", "wait"}));
    EXPECT_EQ(drill.hear({.kind = ObservationKind::node_ready, .nodes = {3}}),
              (Lines{"replace slot 3 by node:3", "restart full from remote"}));
}

TEST(RecoveryMachine, SparesTakeThePlaceAtOnce) {
    Drill drill{kShape, 9, {HotSpares{}}};
    EXPECT_EQ(drill.loses({3}),
              (Lines{"evict node:3", "replace slot 3 by node:8", "restart full from remote"}));
    drill.hear({.kind = ObservationKind::training_started});
    EXPECT_EQ(drill.loses({8}), (Lines{"evict node:8", "wait"}));
}

TEST(RecoveryMachine, ElasticityGoesOnWithTheRestAndGrowsBack) {
    Drill drill{kShape, 8, {ElasticDataParallel{}}};
    EXPECT_EQ(drill.loses({3}),
              (Lines{"evict node:3", "drop slot 3", "restart members from live"}));
    drill.hear({.kind = ObservationKind::training_started});
    EXPECT_EQ(drill.hear({.kind = ObservationKind::node_ready, .nodes = {3}}),
              (Lines{"replace slot 3 by node:3", "restart members from live"}));
}

TEST(RecoveryMachine, ShardedStateNeedsACopy) {
    JobShape sharded = kShape;
    sharded.state_sharded = true;
    Drill remote{sharded, 8, {ElasticDataParallel{}}};
    EXPECT_EQ(remote.loses({3}).back(), "restart members from remote");
    Drill memory{sharded, 8, {ElasticDataParallel{}, PeerCheckpoint{}}};
    EXPECT_EQ(memory.loses({3}, 99).back(), "restart members from memory");
}

TEST(RecoveryMachine, ThePeersCopiesServeUntilAGroupIsLost) {
    Drill drill{kShape, 12, {HotSpares{}, PeerCheckpoint{}}};
    EXPECT_EQ(drill.loses({3, 5}, 99).back(), "restart full from memory");
    drill.hear({.kind = ObservationKind::training_started});
    EXPECT_EQ(drill.loses({0, 1}, 99).back(), "restart full from remote");
}

TEST(RecoveryMachine, ReroutingNeedsAPeerOfTheStage) {
    Drill drill{{.slots = 4, .units = 2, .stages = 2}, 4, {PipelineRerouting{}}};
    EXPECT_EQ(drill.loses({0}),
              (Lines{"evict node:0", "reroute slot 0", "restart members from live"}));
    drill.hear({.kind = ObservationKind::training_started});
    EXPECT_EQ(drill.loses({2}), (Lines{"evict node:2", "wait"}));
}

// P6: the place before a slot's own has its state, unless it is gone as well.
TEST(RecoveryMachine, ANeighbourTakesOverUnlessItIsLostToo) {
    Drill drill{kShape, 8, {RedundantComputation{}}};
    EXPECT_EQ(drill.loses({3}),
              (Lines{"evict node:3", "take_over slot 3", "restart failover from live"}));
    drill.hear({.kind = ObservationKind::training_started});
    EXPECT_EQ(drill.loses({5}),
              (Lines{"evict node:5", "take_over slot 5", "restart failover from live"}));
    drill.hear({.kind = ObservationKind::training_started});
    EXPECT_EQ(drill.hear({.kind = ObservationKind::node_ready, .nodes = {3}}),
              (Lines{"replace slot 3 by node:3", "restart members from live"}));
    drill.hear({.kind = ObservationKind::training_started});
    EXPECT_EQ(drill.loses({4}), (Lines{"evict node:4", "wait"}));  // who stood for slot 5
    // Both places are filled before it goes on, and the state that both had is in the store only.
    EXPECT_EQ(
        drill.hear({.kind = ObservationKind::node_ready, .nodes = {4, 5}}),
        (Lines{
            "replace slot 4 by node:4", "replace slot 5 by node:5", "restart full from remote"}));
}

TEST(RecoveryMachine, TwoNeighboursAtOnceAreNotCovered) {
    Drill drill{kShape, 10, {HotSpares{}, RedundantComputation{}}};
    EXPECT_EQ(drill.loses({2, 3}),
              (Lines{"evict node:2",
                     "evict node:3",
                     "replace slot 2 by node:8",
                     "replace slot 3 by node:9",
                     "restart full from remote"}));
}

// MegaScale's self-check: who fails is replaced, and who came in is tested, too, but not for ever.
TEST(RecoveryMachine, MembersAreTestedBeforeTheyStart) {
    Drill drill{kShape, 11, {PreflightCheck{.rounds = 2}, HotSpares{}}};
    EXPECT_EQ(drill.loses({3}), (Lines{"evict node:3", "replace slot 3 by node:8", "check"}));
    EXPECT_EQ(drill.hear({.kind = ObservationKind::checked, .nodes = {8}}),
              (Lines{"evict node:8", "replace slot 3 by node:9", "check"}));
    EXPECT_EQ(drill.hear({.kind = ObservationKind::checked, .slow = {1}}),
              (Lines{"evict node:1", "replace slot 1 by node:10", "restart full from remote"}));
    drill.hear({.kind = ObservationKind::training_started});
    // No spare is left: a slow node is better than none.
    EXPECT_EQ(drill.hear({.kind = ObservationKind::fault_detected,
                          .detector = Detector::exit_code,
                          .fault = FaultKind::software_bug}),
              (Lines{"check"}));
    EXPECT_EQ(drill.hear({.kind = ObservationKind::checked, .slow = {1, 2}}),
              (Lines{"restart full from remote"}));
}

TEST(RecoveryMachine, WhoFailsInPlaceIsNotStartedThere) {
    Drill drill{kShape, 9, {InPlaceRestart{}, PreflightCheck{}, HotSpares{}}};
    EXPECT_EQ(drill.hear({.kind = ObservationKind::fault_detected,
                          .detector = Detector::exit_code,
                          .fault = FaultKind::software_bug,
                          .nodes = {}}),
              (Lines{"check"}));
    EXPECT_EQ(drill.hear({.kind = ObservationKind::checked, .nodes = {2}}),
              (Lines{"evict node:2", "replace slot 2 by node:8", "check"}));
    EXPECT_EQ(drill.hear({.kind = ObservationKind::checked}), (Lines{"restart full from remote"}));
}

// A planned stop, and a node that comes back, are no reason for suspicion.
TEST(RecoveryMachine, NobodyIsTestedWhereNothingBroke) {
    Drill drill{kShape, 8, {PreflightCheck{}, ElasticDataParallel{}}};
    EXPECT_EQ(drill.hear({.kind = ObservationKind::notice}), (Lines{"drain"}));
    const Lines planned = drill.hear({.kind = ObservationKind::drained});
    EXPECT_EQ(std::count(planned.begin(), planned.end(), "check"), 0);
}

TEST(RecoveryMachine, InPlaceComesFirstAndOnce) {
    Drill drill{kShape, 9, {InPlaceRestart{}, HotSpares{}}};
    const Observation hang{.kind = ObservationKind::fault_detected,
                           .detector = Detector::collective_timeout,
                           .fault = FaultKind::job_hang};
    EXPECT_EQ(drill.hear(hang), Lines{"restart in_place from remote"});
    EXPECT_EQ(drill.hear(hang), Lines{"diagnose"});
    EXPECT_EQ(drill.hear({.kind = ObservationKind::diagnosis_done, .nodes = {2}}),
              (Lines{"evict node:2", "replace slot 2 by node:8", "restart full from remote"}));
}

TEST(RecoveryMachine, WhoKeepsFailingCallsAHuman) {
    Drill drill{kShape, 8, {InPlaceRestart{.attempts = 100}}};
    const Observation hang{.kind = ObservationKind::fault_detected,
                           .detector = Detector::collective_timeout,
                           .fault = FaultKind::job_hang};
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(drill.hear(hang).back(), "restart in_place from remote");
    }
    EXPECT_EQ(drill.hear(hang), Lines{"call_operator"});
    EXPECT_EQ(drill.hear({.kind = ObservationKind::diagnosis_done, .nodes = {}}).back(),
              "restart full from remote skipping batches");
}

TEST(RecoveryMachine, DrainsLoseNoStep) {
    Drill drill{kShape, 9, {HotSpares{}, PreemptiveDrain{}}};
    EXPECT_EQ(drill.hear({.kind = ObservationKind::notice, .nodes = {4}}),
              Lines{"drain node:4 now"});
    EXPECT_EQ(drill.hear(
                  {.kind = ObservationKind::drained, .nodes = {4}, .step = 70, .durable_step = 70}),
              (Lines{"evict node:4", "replace slot 4 by node:8", "restart full from remote"}));
}

TEST(RecoveryMachine, CorruptionGoesBackToWhatIsVerified) {
    Drill drill{kShape, 9, {HotSpares{}, ReplayCheck{}, PeerCheckpoint{}}};
    EXPECT_EQ(drill
                  .hear({.kind = ObservationKind::corruption_found,
                         .detector = Detector::replay,
                         .nodes = {6},
                         .step = 100,
                         .durable_step = 90,
                         .memory_step = 99,
                         .verified_step = 42})
                  .back(),
              "restart full from remote at most step 42");
}

TEST(RecoveryMachine, SpikesGoFurtherBackEachTime) {
    Drill drill{kShape, 8, {RollbackAndSkip{.checkpoints = 2}}};
    const Observation spike{.kind = ObservationKind::corruption_found,
                            .detector = Detector::anomaly,
                            .durable_step = 90};
    EXPECT_EQ(drill.hear(spike).back(),
              "restart full from remote at most step 90 2 checkpoints back skipping batches");
    EXPECT_EQ(drill.hear(spike).back(),
              "restart full from remote at most step 90 4 checkpoints back skipping batches");
}

TEST(RecoveryMachine, ALogReplaysToTheSameActions) {
    const std::vector<PolicySpec> policies{InPlaceRestart{}, HotSpares{}, ElasticDataParallel{}};
    const auto run = [&] {
        Drill drill{kShape, 9, policies};
        drill.machine.keep_log(true);
        for (NodeNumber node = 0; node < 8; ++node) {
            drill.loses({node}, node % 2 == 0 ? 99 : -1);
            drill.hear({.kind = ObservationKind::training_started});
        }
        return to_text(drill.machine.log());
    };
    const std::string log = run();
    EXPECT_FALSE(log.empty());
    EXPECT_EQ(log, run());
}

// A new version of the code: the same nodes, after a checkpoint.
TEST(RecoveryMachine, APlannedRestartDrainsAndKeepsItsNodes) {
    const Observation wanted{.kind = ObservationKind::notice, .fault = FaultKind::job_update};
    const Observation drained{.kind = ObservationKind::drained, .fault = FaultKind::job_update};
    Drill cold{kShape, 9, {HotSpares{}}};
    EXPECT_EQ(cold.hear(wanted), (Lines{"drain"}));
    EXPECT_EQ(cold.hear(wanted), Lines{});
    EXPECT_EQ(cold.hear(drained), (Lines{"restart full from remote"}));
    Drill hot{kShape, 9, {InPlaceRestart{}}};
    hot.hear(wanted);
    EXPECT_EQ(hot.hear(drained), (Lines{"restart in_place from remote"}));
}

TEST(RecoveryMachine, ANodeThatIsReadyDuringARestartIsTakenBackAfterIt) {
    Drill drill{kShape, 8, {ElasticDataParallel{}}};
    EXPECT_EQ(drill.loses({3}),
              (Lines{"evict node:3", "drop slot 3", "restart members from live"}));
    EXPECT_EQ(drill.hear({.kind = ObservationKind::node_ready, .nodes = {3}}), Lines{});
    EXPECT_EQ(drill.hear({.kind = ObservationKind::training_started}),
              (Lines{"replace slot 3 by node:3", "restart members from live"}));
    EXPECT_EQ(drill.hear({.kind = ObservationKind::training_started}), Lines{});
}

}  // namespace recovery_machine_test
}  // namespace orrery
