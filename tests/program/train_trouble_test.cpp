// SPDX-License-Identifier: Apache-2.0
// What goes wrong with the processes of a training run: each trouble ends on every rank, soon, with
// one error that says what to do, and leaves no process behind.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "tests/program/run_program.h"

namespace orrery {
namespace {

constexpr int kUserError = 2;

// A run of two ranks that would go on for hours.
constexpr const char* kScenario =
    "cluster: {nodes: 1, node: cpu-4-cores}\n"
    "model: {num_layers: 2, hidden_size: 32, num_attention_heads: 2, seq_length: 32,\n"
    "        vocab_size: 256}\n"
    "plan: {tensor_model_parallel_size: 2, pipeline_model_parallel_size: 2,\n"
    "       micro_batch_size: 1, global_batch_size: 4, precision: fp32}\n"
    "job: {steps: 1000000, dataset: text, eval_steps: 0, log_interval: 1,\n"
    "      checkpoint_folder: run, checkpoint_interval: 1}\n";

class TrainTrouble : public testing::Test {
protected:
    TrainTrouble() {
        write_text(folder_.path() / "s.yaml", kScenario);
        std::string text;
        for (int i = 0; i < 200; ++i) {
            text += "all work and no play " + std::to_string(i * i) + "\n";
        }
        write_text(folder_.path() / "text", text);
    }

    Ran run(const std::string& script) const {
        return run_shell("orrery='" ORRERY_PROGRAM "'\n" + script, folder_.path(), 100);
    }

    TestFolder folder_;
};

std::int64_t lines(const std::string& text) {
    return std::ranges::count(text, '\n');
}

TEST_F(TrainTrouble, AWrongNumberOfProcessesIsOneErrorInItsPlace) {
    for (const char* command : {"$orrery train s.yaml",
                                "$orrery train s.yaml --nproc 2",
                                "for r in 0 1; do\n"
                                "  RANK=$r WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 $orrery train s.yaml "
                                "& pids[r]=$!\n"
                                "done\n"
                                "status=0; for r in 0 1; do wait ${pids[r]} || status=$?; done\n"
                                "exit $status"}) {
        const Ran ran = run(command);
        EXPECT_EQ(ran.status, kUserError) << command;
        EXPECT_EQ(lines(ran.err), 1) << ran.err;
        EXPECT_TRUE(ran.err.starts_with("s.yaml:1:")) << ran.err;
        EXPECT_NE(ran.err.find("error: the cluster has 4 devices, and "), std::string::npos);
        EXPECT_NE(ran.err.find("orrery train --nproc 4"), std::string::npos) << ran.err;
    }
}

TEST_F(TrainTrouble, ACheckpointFolderThatCannotBeIsToldBeforeTheFirstStep) {
    const Ran ran = run("$orrery train s.yaml --nproc 4 --set job.checkpoint_folder=/proc/none");
    EXPECT_EQ(ran.status, kUserError);
    EXPECT_EQ(ran.out.find("iteration "), std::string::npos) << ran.out;
    EXPECT_NE(ran.err.find("/proc/none: error: can't be created"), std::string::npos) << ran.err;
}

TEST_F(TrainTrouble, APortInUseIsAnErrorOfRankZero) {
    const int taken = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(bind(taken, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(listen(taken, 1), 0);
    socklen_t size = sizeof address;
    ASSERT_EQ(getsockname(taken, reinterpret_cast<sockaddr*>(&address), &size), 0);
    const std::string port = std::to_string(ntohs(address.sin_port));
    const Ran ran = run("RANK=0 WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 MASTER_PORT=" + port +
                        " $orrery train s.yaml");
    close(taken);
    EXPECT_EQ(ran.status, kUserError);
    EXPECT_EQ(lines(ran.err), 1) << ran.err;
    EXPECT_NE(ran.err.find(port), std::string::npos) << ran.err;
}

TEST_F(TrainTrouble, ARankThatNeverArrivesEndsTheOthersAtTheirDeadline) {
    const Ran ran =
        run("RANK=0 WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + $$ % 20000)) "
            "timeout 60 $orrery train s.yaml --set job.distributed_timeout='1 s'");
    EXPECT_EQ(ran.status, kUserError);
    EXPECT_NE(ran.err.find("4 ranks must start within 1000 ms"), std::string::npos) << ran.err;
}

// Of processes that the launcher started, and of processes that were started by hand.
TEST_F(TrainTrouble, ARankThatDiesEndsTheOthers) {
    const Ran launched =
        run("$orrery train s.yaml --nproc 4 >out & launcher=$!\n"
            "until grep -q 'iteration  *2/' out; do sleep 0.1; kill -0 $launcher; done\n"
            "children=$(pgrep -P $launcher)\n"
            "kill -9 $(echo $children | cut -d' ' -f3)\n"
            "status=0; wait $launcher || status=$?\n"
            "for child in $children; do if kill -0 $child 2>/dev/null; then exit 99; fi; done\n"
            "exit $status\n");
    EXPECT_EQ(launched.status, 128 + 9) << launched.err;
    const Ran alone =
        run("for r in 0 1 2 3; do\n"
            "  RANK=$r WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + $$ % 20000)) \\\n"
            "    $orrery train s.yaml --overwrite --set job.distributed_timeout='20 s' "
            ">out.$r 2>err.$r & "
            "pids[r]=$!\n"
            "done\n"
            "until grep -q 'iteration  *2/' out.0; do sleep 0.1; kill -0 ${pids[0]}; done\n"
            "kill -9 ${pids[3]}\n"
            "for r in 0 1 2; do\n"
            "  status=0; wait ${pids[r]} || status=$?\n"
            "  test $status -eq 2 -a -s err.$r || { echo rank $r ended by $status >&2; exit 1; }\n"
            "done\n");
    EXPECT_EQ(alone.status, 0) << alone.err;
}

// A rank that neither goes on nor dies holds up the others until their deadline, and no longer.
TEST_F(TrainTrouble, ARankThatStandsStillEndsTheRunAtTheDeadline) {
    const Ran ran = run(
        "$orrery train s.yaml --nproc 4 --set job.distributed_timeout='2 s' >out & launcher=$!\n"
        "until grep -q 'iteration  *2/' out; do sleep 0.1; kill -0 $launcher; done\n"
        "children=$(pgrep -P $launcher)\n"
        "kill -STOP $(echo $children | cut -d' ' -f3)\n"
        "status=0; wait $launcher || status=$?\n"
        "for child in $children; do if kill -0 $child 2>/dev/null; then exit 99; fi; done\n"
        "exit $status\n");
    EXPECT_EQ(ran.status, kUserError) << ran.err;
    EXPECT_NE(ran.err.find("slower than the deadline of 2000 ms"), std::string::npos) << ran.err;
    const Ran resumed =
        run("$orrery train s.yaml --nproc 4 --resume --set job.steps=$(( $(tail -c 7 "
            "run/latest | sed 's/^0*//') + 1 ))");
    EXPECT_EQ(resumed.status, 0) << resumed.err;
}

// Sixteen bytes: that a file has these already is as good as impossible.
const std::string kDamage = "printf %016d 0 | dd bs=1 seek=9000 conv=notrunc 2>/dev/null of=";

// A checkpoint of another model, a damaged one, one of which a rank's file is gone: one error, and
// nothing of the checkpoint is touched.
TEST_F(TrainTrouble, ACheckpointThatDoesNotFitIsOneError) {
    const Ran good = run("$orrery train s.yaml --nproc 4 --set job.steps=1");
    ASSERT_EQ(good.status, 0) << good.err;
    const std::string file = "run/step-000001/rank-00002.safetensors";
    const struct {
        std::string change;
        std::string options;
        std::string message;
    } cases[] = {
        {"true", "--set model.hidden_size=64", "model.hidden_size is 32 there and 64 here"},
        {"truncate -s 3000 " + file, "", file},
        {kDamage + file, "", "damaged"},
        {"rm " + file, "", file},
    };
    for (const auto& c : cases) {
        const Ran ran = run("status=0; cp -r run keep; " + c.change +
                            "; $orrery train s.yaml --nproc 4 --resume --set job.steps=2 " +
                            c.options + " || status=$?; rm -rf run; mv keep run; exit $status");
        EXPECT_EQ(ran.status, kUserError) << c.change;
        EXPECT_EQ(lines(ran.err), 1) << ran.err;
        EXPECT_NE(ran.err.find(c.message), std::string::npos) << ran.err;
    }
    EXPECT_EQ(run("$orrery train s.yaml --nproc 4 --resume --set job.steps=2").status, 0);
}

// The newest checkpoint is damaged: the one before it is taken, and that is said.
TEST_F(TrainTrouble, ResumingPassesOverDamagedCheckpoints) {
    const Ran whole = run("$orrery train s.yaml --nproc 4 --set job.steps=4 && mv run keep");
    ASSERT_EQ(whole.status, 0) << whole.err;
    const std::string damages[] = {
        "truncate -s 3000 $newest/rank-00002.safetensors",
        kDamage + "$newest/rank-00003.safetensors",
        "rm $newest/rank-00000.safetensors",
        "rm $newest/rank-00001.safetensors; : >run/step-000002/rank-00001.safetensors",
        "rm run/latest; : >$newest/rank-00001.safetensors"};
    for (const std::string& damage : damages) {
        const Ran ran =
            run("rm -rf run; cp -r keep run; rm -rf run/step-000004\n"
                "echo step-000003 >run/latest; newest=run/step-000003\n" +
                damage +
                "\n$orrery train s.yaml --nproc 4 --resume --set job.steps=4 || exit 1\n"
                "for r in 0 1 2 3; do\n"
                "  cmp run/step-000004/rank-0000$r.safetensors "
                "keep/step-000004/rank-0000$r.safetensors || exit 3\n"
                "done");
        EXPECT_EQ(ran.status, 0) << damage << "\n" << ran.err << ran.out;
        const bool two = damage.find("000002") != std::string::npos;
        EXPECT_NE(ran.out.find(two ? "resumed after step 1" : "resumed after step 2"),
                  std::string::npos)
            << ran.out;
        if (damage[0] != 'r') {
            EXPECT_EQ(lines(ran.err), 1) << ran.err;
            EXPECT_NE(ran.err.find("passes over a checkpoint"), std::string::npos) << ran.err;
        }
    }
}

TEST_F(TrainTrouble, ADatasetThatIsNoneIsOneErrorInItsPlace) {
    const Ran made =
        run("$orrery tokenize text -o tokens && head -c 100 tokens >cut && mkfifo pipe");
    ASSERT_EQ(made.status, 0) << made.err;
    for (const char* dataset : {"nothing", "cut", "pipe", "."}) {
        const Ran ran =
            run(std::string{"$orrery train s.yaml --nproc 4 --set job.dataset="} + dataset);
        EXPECT_EQ(ran.status, kUserError) << dataset;
        EXPECT_EQ(lines(ran.err), 1) << ran.err;
        EXPECT_TRUE(ran.err.starts_with("--set job.dataset: error: ")) << ran.err;
    }
}

TEST_F(TrainTrouble, AFullDiskIsOneErrorAndLeavesTheLastCheckpoint) {
    const Ran good = run("$orrery train s.yaml --nproc 4 --set job.steps=1");
    ASSERT_EQ(good.status, 0) << good.err;
    const Ran full =
        run("ulimit -f 8\n"
            "$orrery train s.yaml --nproc 4 --resume --set job.steps=3 >out");
    EXPECT_EQ(full.status, kUserError);
    EXPECT_EQ(lines(full.err), 1) << full.err;
    EXPECT_NE(full.err.find("can't be written"), std::string::npos) << full.err;
    const Ran resumed = run("$orrery train s.yaml --nproc 4 --resume --set job.steps=2");
    EXPECT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_NE(resumed.out.find("resumed after step 1"), std::string::npos) << resumed.out;
}

TEST_F(TrainTrouble, ALossThatIsNoNumberIsOneErrorAndLeavesTheLastCheckpoint) {
    const Ran ran =
        run("$orrery train s.yaml --nproc 4 --set job.learning_rate=100 --set job.clip_grad=0 "
            "--set job.weight_decay=100 --set job.checkpoint_interval=2 >out");
    EXPECT_EQ(ran.status, kUserError);
    EXPECT_EQ(lines(ran.err), 1) << ran.err;
    EXPECT_NE(ran.err.find("smaller job.learning_rate"), std::string::npos) << ran.err;
    const Ran exported = run("$orrery export run -o weights.safetensors");
    EXPECT_EQ(exported.status, 0) << exported.err;
}

// The one rank that tells must wait until standard error, a pipe, takes it: it is full at first.
TEST_F(TrainTrouble, AnErrorIsToldBeforeTheOtherRanksLeave) {
    const Ran good = run("$orrery train s.yaml --nproc 4 --set job.steps=1");
    ASSERT_EQ(good.status, 0) << good.err;
    const Ran ran =
        run("rm run/step-000001/rank-00002.safetensors\n"
            "(head -c 65536 /dev/zero >&2; $orrery train s.yaml --nproc 4 --resume >out; "
            "echo $? >status) 2>&1 | (sleep 2; tr -d '\\000')\n"
            "exit $(cat status)");
    EXPECT_EQ(ran.status, kUserError);
    EXPECT_EQ(lines(ran.out), 1) << ran.out;
    EXPECT_NE(ran.out.find("rank-00002.safetensors"), std::string::npos) << ran.out;
}

// What a batch system does before it takes the nodes away.
TEST_F(TrainTrouble, ASignalEndsTheRunWithACheckpointOfAllRanks) {
    const Ran ran = run(
        "$orrery train s.yaml --nproc 4 --set job.checkpoint_interval=1000000 >out 2>err & p=$!\n"
        "until grep -q 'iteration        3/' out; do kill -0 $p || exit 9; sleep 0.1; done\n"
        "kill -TERM $p; wait $p || echo $?; cat out err");
    ASSERT_EQ(ran.status, 0) << ran.err;
    EXPECT_TRUE(ran.out.starts_with("143\n")) << ran.out;
    const std::size_t at = ran.out.find("stopped after step ");
    ASSERT_NE(at, std::string::npos) << ran.out;
    const int step = std::atoi(ran.out.c_str() + at + 19);
    EXPECT_GE(step, 3);
    const Ran again =
        run("$orrery train s.yaml --nproc 4 --resume --set job.steps=" + std::to_string(step));
    EXPECT_EQ(again.status, 0) << again.err;
    EXPECT_NE(again.out.find("nothing is left to train"), std::string::npos) << again.out;
}

}  // namespace
}  // namespace orrery
