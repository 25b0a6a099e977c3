// SPDX-License-Identifier: Apache-2.0
// Training over the network of two machines, where this one allows to make them
// (with_two_machines.sh): they train what one machine trains, and a machine that is cut off or
// switched off ends the run in time, or, under a supervisor, is replaced.
#include <gtest/gtest.h>

#include <string>

#include "tests/program/run_program.h"

namespace orrery {
namespace {

constexpr int kNoMachines = 77;

// $train: 120 steps in 3 s. ranks FOLDER OPTIONS: four ranks, two on each machine.
constexpr const char* kBegin = R"sh(
root=)sh" ORRERY_SOURCE_DIR R"sh(
steps=120
train() {
    echo "'$ORRERY' train $root/scenarios/drill-cpu-4.yaml --quiet" \
        "--set faults=[] --set job.dataset=$root/LICENSE --set job.distributed_timeout=3s" \
        "--set job.steps=$steps --set job.checkpoint_folder=$PWD/$1"
}
ranks() {
    for rank in 0 1 2 3; do
        machine=one
        [ $rank -lt 2 ] || machine=two
        on $machine "RANK=$rank LOCAL_RANK=$((rank % 2)) WORLD_SIZE=4 MASTER_ADDR=one" \
            "MASTER_PORT=29500 $(train "$1") $2" 2>>"$1.err" &
        pids[$rank]=$!
    done
}
supervised() {
    eval "$(train "$1")" --supervise --hosts one:2,two:2,one:2 "--launch 'far {host}'" \
        --set campaign.detection.progress_watchdog=2s --overwrite \
        --set "'recovery.policies=[{spares: {count: 2}}]'" --events "$1.events" 2>"$1.err" &
}
trained() {  # FOLDER: its first checkpoint is there
    for _ in {1..300}; do
        [ -e "$1/step-000010" ] && return
        sleep 0.1
    done
    echo "no checkpoint in $1"
}
same() {
    for rank in 0 1 2 3; do
        cmp "$1/step-000120/rank-0000$rank.safetensors" "$2/step-000120/rank-0000$rank.safetensors"
    done && echo same weights
}
passed() { echo "ended after $((($(date +%s%N) - begin) / 1000000000)) s"; }
eval "$(train alone)" --nproc 4 --overwrite 2>&1
)sh";

class TwoMachines : public ::testing::Test {
protected:
    void SetUp() override {
        if (on_machines("").status == kNoMachines) {
            GTEST_SKIP() << file("errors");
        }
    }
    Ran run(const std::string& script) const { return on_machines(kBegin + script); }
    std::string file(const std::string& name) const { return read_text(folder_.path() / name); }
    TestFolder folder_;

private:
    Ran on_machines(const std::string& script) const {
        write_text(folder_.path() / "script", script);
        return run_shell("'" ORRERY_SOURCE_DIR
                         "/tests/program/with_two_machines.sh' script 2>errors",
                         folder_.path());
    }
};

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST_F(TwoMachines, TrainWhatOneMachineTrains) {
    const Ran ran = run(R"sh(
ranks both ''
for pid in ${pids[@]}; do wait $pid; echo "status $?"; done
same both alone
)sh");
    EXPECT_EQ(ran.out, "status 0\nstatus 0\nstatus 0\nstatus 0\nsame weights\n") << file("errors");
}

// All ranks end with an error that names one of the other machine, three seconds later, and the run
// goes on when the cable is back.
TEST_F(TwoMachines, ACableThatIsPulledEndsAllRanksInTime) {
    const Ran ran = run(R"sh(
ranks cut ''
trained cut
unplug two
begin=$(date +%s%N)
for pid in ${pids[@]}; do wait $pid; echo "status $?"; done
passed
plug two
ranks cut --resume
for pid in ${pids[@]}; do wait $pid; echo "status $?"; done
same cut alone
)sh");
    EXPECT_TRUE(has(ran.out, "status 2\nstatus 2\nstatus 2\nstatus 2\nended after")) << ran.out;
    EXPECT_TRUE(has(ran.out, "after 3 s") || has(ran.out, "after 4 s") ||
                has(ran.out, "after 5 s") || has(ran.out, "after 6 s"))
        << ran.out;
    EXPECT_TRUE(has(ran.out, "status 0\nstatus 0\nstatus 0\nstatus 0\nsame weights\n")) << ran.out;
    const std::string errors = file("cut.err");
    EXPECT_TRUE(has(errors, "rank 0: error: ")) << errors;
    EXPECT_TRUE(has(errors, "may have died, or be slower than the deadline of 3000 ms")) << errors;
}

TEST_F(TwoMachines, AMachineThatIsSwitchedOffEndsTheOthersRanks) {
    const Ran ran = run(R"sh(
ranks off ''
trained off
switch_off two
begin=$(date +%s%N)
for rank in 0 1; do wait ${pids[$rank]}; echo "status $?"; done
passed
)sh");
    EXPECT_TRUE(has(ran.out, "status 2\nstatus 2\nended after")) << ran.out;
    EXPECT_TRUE(has(file("off.err"), "rank 0: error: ")) << file("off.err");
}

// The nodes of the machine that is gone are silent or dead; spares on the other one take their
// places, and the weights are those of an undisturbed run.
TEST_F(TwoMachines, ASupervisorReplacesAMachineThatIsGone) {
    for (const char* what : {"unplug", "switch_off"}) {
        const Ran ran = run(std::string{"what="} + what + R"sh(
supervised gone
pid=$!
trained gone
$what two
wait $pid
echo "status $?"
same gone alone
)sh");
        EXPECT_EQ(ran.out, "status 0\nsame weights\n")
            << what << file("errors") << file("gone.err");
        const std::string events = file("gone.events");
        // Whichever node is missed first gets the first spare.
        const bool in_order = has(events, "\"action\":\"replace slot 2 by node:4\"");
        const char* const spares = in_order ? "45" : "54";
        for (int i = 0; i < 2; ++i) {
            const std::string action = std::string{"\"action\":\"replace slot "} +
                                       static_cast<char>('2' + i) + " by node:" + spares[i] + '"';
            EXPECT_TRUE(has(events, action)) << events;
        }
        std::filesystem::remove_all(folder_.path() / "gone");
    }
}

}  // namespace
}  // namespace orrery
