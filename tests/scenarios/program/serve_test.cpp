// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/serve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/program/exit_status.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

ServeArguments shipped() {
    ServeArguments arguments;
    arguments.file = ORRERY_SOURCE_DIR "/scenarios/serving/llama3-70b.yaml";
    arguments.overrides = {"workload.num_requests=200"};
    return arguments;
}

CommandRun serve(const ServeArguments& arguments) {
    return run_command([&] { return serve_command(arguments); });
}

TEST(ServeCommand, PrintsLatenciesOrOneJsonObject) {
    ServeArguments arguments = shipped();
    const CommandRun table = serve(arguments);
    EXPECT_EQ(table.status, kExitOk) << table.err;
    EXPECT_NE(table.out.find("first token"), std::string::npos) << table.out;
    arguments.json = true;
    const CommandRun run = serve(arguments);
    ASSERT_EQ(run.status, kExitOk) << run.err;
    const auto json = nlohmann::json::parse(run.out);
    EXPECT_EQ(json["requests"], 200);
    EXPECT_GT(json["output_tokens_per_s"], 0);
    EXPECT_TRUE(json.contains("provenance"));
}

TEST(ServeCommand, WritesAPageATraceAndATableOfRequests) {
    const TestFolder folder;
    ServeArguments arguments = shipped();
    arguments.html_file = (folder / "load.html").string();
    arguments.trace_file = (folder / "load.trace").string();
    arguments.output = (folder / "requests.csv").string();
    const CommandRun run = serve(arguments);
    ASSERT_EQ(run.status, kExitOk) << run.err;
    EXPECT_NE(folder.text("load.html").find("Batches around the fullest moment"),
              std::string::npos);
    EXPECT_NE(folder.text("load.trace").find("instance 0"), std::string::npos);
    const std::string table = folder.text("requests.csv");
    EXPECT_EQ(std::ranges::count(table, '\n'), 201);
    arguments.real = true;
    EXPECT_NE(serve(arguments).err.find("--trace: error: shows the steps of a simulated server"),
              std::string::npos);
}

TEST(ServeCommand, ServesATrace) {
    const TestFolder folder;
    const std::string trace =
        folder.write("t.csv", "arrival_s,input_tokens,output_tokens\n0,100,5\n0.1,100,5\n");
    ServeArguments arguments = shipped();
    arguments.json = true;
    arguments.overrides = {"workload={trace: " + trace + "}"};
    const CommandRun run = serve(arguments);
    ASSERT_EQ(run.status, kExitOk) << run.err;
    EXPECT_EQ(nlohmann::json::parse(run.out)["requests"], 2);
}

TEST(ServeCommand, WhatCannotBeServedIsAnError) {
    ServeArguments arguments = shipped();
    arguments.overrides = {"serving.pools.instances=5"};
    const CommandRun run = serve(arguments);
    EXPECT_NE(run.status, kExitOk);
    EXPECT_NE(run.err.find("the instances take 40 GPUs, and the cluster has 32"), std::string::npos)
        << run.err;
    arguments.overrides = {"serving.pools.tensor_model_parallel_size=1"};
    EXPECT_NE(serve(arguments).err.find("leave no room for a key-value cache"), std::string::npos);
    arguments.file = ORRERY_SOURCE_DIR "/scenarios/laptop-2gpu.yaml";
    arguments.overrides = {};
    EXPECT_NE(serve(arguments).err.find("a served load is due"), std::string::npos);
}

}  // namespace
}  // namespace orrery
