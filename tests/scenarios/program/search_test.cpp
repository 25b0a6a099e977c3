// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/search.h"

#include <gtest/gtest.h>

#include <fstream>

#include "scenarios/format/read/reader.h"
#include "scenarios/program/exit_status.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

constexpr const char* kText = R"(cluster:
  nodes: 1
  node: {base: dgx-a100-80g, gpus_per_node: 4}
model: {num_layers: 4, hidden_size: 512, num_attention_heads: 8, seq_length: 512, vocab_size: 4096}
plan: {micro_batch_size: 1, global_batch_size: 16}
search: {sequence_parallel: true, recompute_granularity: none, schedule: [1f1b]}
)";

class SearchCommand : public ::testing::Test {
protected:
    std::string write(const std::string& name, const std::string& text) const {
        const std::string path = (folder_.path() / name).string();
        std::ofstream{path} << text;
        return path;
    }
    TestFolder folder_;
};

TEST_F(SearchCommand, WritesTheWinnerAsAScenario) {
    SearchArguments arguments;
    arguments.file = write("s.yaml", kText);
    arguments.output = (folder_.path() / "best.yaml").string();
    testing::internal::CaptureStdout();
    const int status = search_command(arguments);
    const std::string printed = testing::internal::GetCapturedStdout();
    EXPECT_EQ(status, kExitOk);
    EXPECT_NE(printed.find("the best of"), std::string::npos) << printed;
    const auto winner = read_scenario(arguments.output);
    ASSERT_TRUE(winner) << winner.error().front().to_string();
    EXPECT_EQ(winner->plan.recompute_granularity, Recompute::none);
    EXPECT_TRUE(winner->search.clusters.empty());
}

TEST_F(SearchCommand, AnInfeasibleSpaceIsAnErrorAndWritesNothing) {
    SearchArguments arguments;
    arguments.file = write("s.yaml", kText);
    arguments.overrides = {"search.tensor_model_parallel_size=[3]"};
    arguments.output = (folder_.path() / "best.yaml").string();
    testing::internal::CaptureStderr();
    EXPECT_EQ(search_command(arguments), kExitUserError);
    const std::string errors = testing::internal::GetCapturedStderr();
    EXPECT_NE(errors.find("no plan of"), std::string::npos) << errors;
    EXPECT_FALSE(std::filesystem::exists(arguments.output));
}

TEST_F(SearchCommand, AnUnwritablePlaceIsToldBeforeTheSearch) {
    SearchArguments arguments;
    arguments.file = write("s.yaml", kText);
    arguments.output = (folder_.path() / "none" / "best.yaml").string();
    testing::internal::CaptureStderr();
    EXPECT_EQ(search_command(arguments), kExitUserError);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("none"), std::string::npos);
}

}  // namespace
}  // namespace orrery
