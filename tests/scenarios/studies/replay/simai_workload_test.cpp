// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/replay/simai_workload.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

constexpr const char* kWorkload =
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 2 ga: 2 "
    "all_gpus: 8 checkpoints: 0 checkpoint_initiates: 0\n"
    "2\n"
    "embedding -1 1000 ALLREDUCE 4096 1 NONE 0 500 NONE 0 100\n"
    "layer\t-1\t2000\tALLGATHER\t8192\t3000\tREDUCESCATTER\t8192\t4000\tALLREDUCE\t65536\t100\n";

TEST(SimaiWorkload, RunsForwardThenBackwardForEachMicroBatch) {
    const auto step = parse_simai(kWorkload, "w.txt");
    ASSERT_TRUE(step) << step.error().front().to_string();
    ASSERT_EQ(step->ranks.size(), 8u);
    const auto& ops = step->ranks[3];
    Time compute;
    std::map<std::string, int> collectives;
    for (const ForeignOp& op : ops) {
        if (op.kind == ForeignOp::Kind::compute) {
            compute += op.duration;
        } else {
            ++collectives[op.group];
        }
    }
    // Twice 1000 + 1 + 500 + 2000 + 3000 + 4000 ns.
    EXPECT_EQ(compute, Time::picoseconds(2 * 10'501'000));
    // Tensor-parallel: two in forward and one in backward, twice; gradients once.
    EXPECT_EQ(collectives, (std::map<std::string, int>{{"tp of rank 2", 6}, {"dp of rank 1", 1}}));
    EXPECT_EQ(step->groups.at("dp of rank 1"),
              (std::vector{RankId{1}, RankId{3}, RankId{5}, RankId{7}}));
    EXPECT_TRUE(program_of(*step));
}

TEST(SimaiWorkload, MistakesNameFileLineAndField) {
    const auto error = [](std::string text) {
        const auto step = parse_simai(text, "w.txt");
        return step ? std::string{} : step.error().front().to_string();
    };
    const std::string header = "HYBRID_TRANSFORMER_FWD_IN_BCKWD all_gpus: 4\n1\n";
    EXPECT_EQ(error(header + "a -1 1 NONE 0 1 NONE 0 1 NONE 0\n"),
              "w.txt:3: error: has 11 columns instead of 12");
    EXPECT_EQ(error(header + "a -1 x NONE 0 1 NONE 0 1 NONE 0 1\n"),
              "w.txt:3: error: forward compute: 'x' is not a whole number");
    EXPECT_NE(error(header + "a -1 1 NONE 0 1 GOSSIP 0 1 NONE 0 1\n")
                  .find("w.txt:3: error: input gradient communication: 'GOSSIP'"),
              std::string::npos);
    EXPECT_TRUE(error("").starts_with("w.txt: error: does not begin with ")) << error("");
    EXPECT_NE(error(header).find("announces 1 lines and has 0"), std::string::npos);
    EXPECT_NE(error("MICRO\n").find("w.txt:1: error: does not begin"), std::string::npos);
    EXPECT_NE(error("HYBRID_TRANSFORMER_FWD_IN_BCKWD pp: 2 all_gpus: 4\n1\n"
                    "a -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n")
                  .find("pp is more than 1"),
              std::string::npos);
    EXPECT_NE(error("HYBRID_TRANSFORMER_FWD_IN_BCKWD ep: 8 all_gpus: 4\n1\n"
                    "a -1 1 ALLTOALL_EP 64 1 NONE 0 1 NONE 0 1\n")
                  .find("no multiple of model_parallel_NPU_group x ep"),
              std::string::npos);
    EXPECT_NE(error("HYBRID_TRANSFORMER_FWD_IN_BCKWD ga: 65536 all_gpus: 65536\n1\n"
                    "a -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n")
                  .find("a step of more than 100000000 operations"),
              std::string::npos);
    EXPECT_FALSE(parse_simai("", "w.txt"));
}

}  // namespace
}  // namespace orrery
