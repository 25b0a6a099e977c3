// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "scenarios/program/exit_status.h"
#include "scenarios/program/search.h"
#include "scenarios/program/serve.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

SearchArguments few_pools() {
    SearchArguments arguments;
    arguments.file = ORRERY_SOURCE_DIR "/scenarios/serving/llama3-70b-search.yaml";
    arguments.overrides = {"workload.num_requests=100",
                           "search.pools=[disaggregated]",
                           "search.tensor_model_parallel_size=[8]"};
    return arguments;
}

// The file that it writes is served at the rate of the answer with the objectives met.
TEST(SearchPoolsCommand, WritesTheBestAsALoadThatServeTakes) {
    const TestFolder folder;
    SearchArguments arguments = few_pools();
    arguments.json = true;
    arguments.output = (folder.path() / "best.yaml").string();
    const CommandRun run = run_command([&] { return search_command(arguments); });
    ASSERT_EQ(run.status, kExitOk) << run.err;
    const auto json = nlohmann::json::parse(run.out);
    EXPECT_EQ(json["tried"], 3);
    const auto& best = json["best"][0];
    EXPECT_EQ(best["pools"][0]["role"], "prefill");
    ServeArguments serve;
    serve.file = arguments.output;
    serve.json = true;
    serve.overrides = {"workload.request_rate=" + best["rate"].dump()};
    const CommandRun served = run_command([&] { return serve_command(serve); });
    ASSERT_EQ(served.status, kExitOk) << served.err;
    const auto answer = nlohmann::json::parse(served.out);
    EXPECT_EQ(answer["pools"][0]["instances"], best["pools"][0]["instances"]);
    EXPECT_GE(answer["good_share"], 0.98);
    EXPECT_NEAR(answer["ttft_s"]["p99"].get<double>(), best["ttft_p99_s"].get<double>(), 1e-3);
}

TEST(SearchPoolsCommand, OptionsOfATrainingAreRefused) {
    SearchArguments arguments = few_pools();
    arguments.sensitivity = true;
    const CommandRun run = run_command([&] { return search_command(arguments); });
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_NE(run.err.find("--sensitivity"), std::string::npos);
}

}  // namespace
}  // namespace orrery
