// SPDX-License-Identifier: Apache-2.0
// Real processes under the supervisor: killed, stopped, hung, and with damaged checkpoints, a run
// ends with the very weights of an undisturbed one.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "tests/program/run_program.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

std::string supervised(const fs::path& folder, const std::string& more) {
    return "train scenarios/drill-cpu-4.yaml --supervise --set job.steps=30 "
           "--set job.checkpoint_interval=5 --set job.checkpoint_folder=" +
           folder.string() + " --events " + (folder / "events").string() + " " + more;
}

std::string faults(const std::string& list) {
    return "--set 'faults=[" + list + "]' ";
}

// The weights at the end, of all ranks.
std::string weights(const fs::path& folder) {
    std::string all;
    for (int rank = 0; rank < 4; ++rank) {
        all += read_text(folder / "step-000030" /
                         ("rank-0000" + std::to_string(rank) + ".safetensors"));
    }
    return all;
}

const std::string& undisturbed() {
    static const std::string kept = [] {
        const TestFolder folder;
        const Ran ran = run_orrery(supervised(folder.path(), faults("")));
        EXPECT_EQ(ran.status, 0) << ran.err;
        return weights(folder.path());
    }();
    EXPECT_GT(kept.size(), 100'000u);
    return kept;
}

void expect_same_weights(const std::string& faults_of_drill,
                         const std::string& policies,
                         const std::string& stops) {
    const TestFolder folder;
    const Ran ran = run_orrery(supervised(folder.path(), faults(faults_of_drill) + policies));
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_NE(ran.out.find(stops), std::string::npos) << ran.out;
    EXPECT_TRUE(weights(folder.path()) == undisturbed());
}

TEST(SupervisedTraining, AKilledProcessIsReplacedAndTheWeightsAreTheSame) {
    expect_same_weights("{step: 12, at: \"node:2\", kind: node_crash}", "", "1 of 1 stops as");
}

TEST(SupervisedTraining, TheFirstRankMayDieToo) {
    expect_same_weights("{step: 12, at: \"node:0\", kind: node_crash}", "", "1 of 1 stops as");
}

TEST(SupervisedTraining, TwoThatDieInTurnWaitForRepair) {
    expect_same_weights(
        "{step: 7, at: \"node:1\", kind: node_crash}, {step: 21, at: \"node:3\", kind: node_crash}",
        "--set 'recovery.policies=[]'",
        "2 of 2 stops as");
}

TEST(SupervisedTraining, AStepThatNeverEndsIsDiagnosed) {
    expect_same_weights("{step: 12, at: \"node:1\", kind: gpu_hang}", "", "1 of 1 stops as");
}

// Without a word about detection the supervisor looks before ranks give up.
TEST(SupervisedTraining, AHangIsExplainedWithDefaultDetection) {
    const TestFolder folder;
    const Ran ran = run_orrery(
        supervised(folder.path(),
                   faults("{step: 12, at: \"node:0\", kind: gpu_hang}") +
                       "--set 'campaign.detection={}' --set job.distributed_timeout=4s"));
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_NE(ran.out.find("rank 0 (node 0) never arrived"), std::string::npos) << ran.out;
    EXPECT_NE(ran.out.find("for rank 0"), std::string::npos) << ran.out;
    EXPECT_NE(ran.out.find("1 of 1 stops as predicted"), std::string::npos) << ran.out;
    EXPECT_LT(ran.out.find("never arrived"), ran.out.find("evict node:0")) << ran.out;
    EXPECT_NE(ran.out.find("seen after 3.00 s"), std::string::npos) << ran.out;
}

TEST(SupervisedTraining, AStoppedProcessIsMissed) {
    expect_same_weights("{step: 12, at: \"node:1\", kind: host_fault}", "", "1 of 1 stops as");
}

TEST(SupervisedTraining, WhoseConnectionIsCutIsReplaced) {
    expect_same_weights("{step: 12, at: \"node:1\", kind: nic_down}", "", "1 of 1 stops as");
}

// The highest bit of an exponent: the gradient is no number any more.
TEST(SupervisedTraining, AFlippedBitOfAGradientIsSeenAndTakenBack) {
    expect_same_weights(
        "{step: 12, at: \"node:1\", kind: silent_corruption}", "", "1 of 1 stops as");
}

// The checkpoint of step 10 is torn, which shows when it is read.
TEST(SupervisedTraining, ATornCheckpointIsPassedOver) {
    expect_same_weights(
        "{step: 8, at: \"node:1\", kind: torn_checkpoint}, "
        "{step: 12, at: \"node:2\", kind: node_crash}",
        "",
        "after step 12, resumed from 5, 7 lost");
}

TEST(SupervisedTraining, AFullStoreOrASlowOneStopsNobody) {
    expect_same_weights(
        "{step: 8, kind: store_full, duration: {mean: 1 s}}, "
        "{step: 18, kind: store_slow, factor: 5}",
        "",
        "could not be saved");
}

TEST(SupervisedTraining, ASlowConnectionIsWaitedFor) {
    expect_same_weights(
        "{step: 12, at: \"node:1\", kind: slow_nic, factor: 20}", "", "strikes node 1");
}

TEST(SupervisedTraining, ABugIsRestartedInPlace) {
    expect_same_weights(
        "{step: 12, kind: software_bug}", "--set 'recovery.policies=[in_place]'", "1 of 1 stops");
}

// No step is lost: every one is copied to another node's memory.
TEST(SupervisedTraining, PeersKeepTheLastStep) {
    expect_same_weights("{step: 13, at: \"node:2\", kind: node_crash}",
                        "--set 'recovery.policies=[{spares: {count: 1}}, peer_checkpoint]' ",
                        "after step 13, resumed from 13, 0 lost");
}

TEST(SupervisedTraining, AfterTheLossOfAllCopiesItIsTheStore) {
    expect_same_weights(
        "{step: 13, at: \"node:2\", kind: node_crash}, "
        "{step: 13, at: \"node:3\", kind: node_crash}",
        "--set 'recovery.policies=[{spares: {count: 2}}, peer_checkpoint]' ",
        "after step 13, resumed from 10, 3 lost");
}

// With three of four the sums have another order: the weights are others.
TEST(SupervisedTraining, ItGoesOnWithThoseWhoAreLeftAndGrowsBack) {
    const TestFolder folder;
    const Ran ran =
        run_orrery(supervised(folder.path(),
                              faults("{step: 13, at: \"node:2\", kind: node_crash}") +
                                  "--set job.steps=100 --set 'recovery.policies=[elastic]' "
                                  "--set 'campaign.repair.time={mean: 0.5 s}'"));
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_NE(ran.out.find("recovery: drop slot 2"), std::string::npos) << ran.out;
    EXPECT_NE(ran.out.find("recovery: replace slot 2 by node:2"), std::string::npos) << ran.out;
    EXPECT_NE(ran.out.find("2 of 2 stops as predicted"), std::string::npos) << ran.out;
}

TEST(SupervisedTraining, TheLogReplaysToTheSameActions) {
    const TestFolder folder;
    const std::string more =
        faults(
            "{step: 7, at: \"node:1\", kind: node_crash}, "
            "{step: 12, at: \"node:2\", kind: gpu_hang}, {step: 20, kind: software_bug}") +
        "--set 'recovery.policies=[in_place, {spares: {count: 1}}, peer_checkpoint]' ";
    const Ran ran = run_orrery(supervised(folder.path(), more));
    EXPECT_EQ(ran.status, 0) << ran.err << ran.out;
    const std::string replay = "campaign scenarios/drill-cpu-4.yaml --replay " +
                               (folder.path() / "events").string() + " " + more;
    const Ran again = run_orrery(replay);
    EXPECT_EQ(again.status, 0) << again.err;
    EXPECT_NE(again.out.find("the same actions, byte for byte"), std::string::npos) << again.out;
    const Ran other = run_orrery(replay + "--set 'recovery.policies=[]'");
    EXPECT_EQ(other.status, 2);
}

TEST(SupervisedTraining, AStoreThatIsDownForAWhileStopsNobody) {
    const TestFolder folder;
    const Ran ran = run_orrery(
        supervised(folder.path(), faults("{step: 8, kind: store_outage, duration: {mean: 1 h}}")));
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_NE(ran.out.find("could not be saved"), std::string::npos) << ran.out;
    EXPECT_TRUE(weights(folder.path()) == undisturbed());
}

TEST(SupervisedTraining, ASlowNodeIsDrained) {
    const TestFolder folder;
    const Ran ran = run_orrery(
        supervised(folder.path(),
                   faults("{step: 2, at: \"node:1\", kind: slow_gpu, factor: 20}") +
                       "--set 'recovery.policies=[{spares: {count: 1}}, drain]' "
                       "--set job.steps=60 --set 'campaign.detection.step_outlier=1 s'"));
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_NE(ran.out.find("recovery: drain node:1"), std::string::npos) << ran.out;
    EXPECT_NE(ran.out.find("recovery: replace slot 1 by node:4"), std::string::npos) << ran.out;
    EXPECT_NE(ran.out.find(" 0 lost"), std::string::npos) << ran.out;
}

// A host that became slow, which was not asked for, is found when another one dies: the tests run
// in the new processes, over their connections, and the simulated policy orders the same.
TEST(SupervisedTraining, TestsBeforeARestartFindTheSlowHost) {
    expect_same_weights(
        "{step: 8, at: \"node:1\", kind: slow_host, factor: 20}, "
        "{step: 12, at: \"node:2\", kind: node_crash}",
        "--set 'recovery.policies=[{preflight: {duration: 1 s}}, {spares: {count: 2}}]'",
        "did        evict node:2; replace slot 2 by node:4; check; evict node:1; "
        "replace slot 1 by node:5; check; restart full from remote");
}

// A process that gets half of its core's time: its ops are recorded, and the heat map names it.
TEST(SupervisedTraining, TheHeatMapOfARunNamesTheRankThatIsHeldUp) {
    const TestFolder folder;
    const Ran ran =
        run_shell("tests/program/held_up_rank.sh 2 " + folder.path().string(), ORRERY_SOURCE_DIR);
    EXPECT_EQ(ran.status, 0) << ran.err << ran.out;
    const Ran found = run_orrery("diagnose " + (folder.path() / "run").string() + " --json");
    EXPECT_EQ(found.status, 1) << found.out;
    // Other nodes that the noise of a busy machine names are less slow.
    std::string worst;
    double most = 0;
    const std::regex named{"node ([0-9]): ([0-9.]+) times its peers"};
    for (std::sregex_iterator one{found.out.begin(), found.out.end(), named}, end; one != end;
         ++one) {
        if (std::stod((*one)[2]) > most) {
            most = std::stod((*one)[2]);
            worst = (*one)[1];
        }
    }
    EXPECT_EQ(worst, "2") << found.out;
}

TEST(SupervisedTraining, FaultsAreRefusedWhereItIsNoDrill) {
    const TestFolder folder;
    const Ran ran = run_orrery(supervised(folder.path(), "--set job.drill=false"));
    EXPECT_EQ(ran.status, 2);
    EXPECT_NE(ran.err.find("not marked as a drill"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace orrery
