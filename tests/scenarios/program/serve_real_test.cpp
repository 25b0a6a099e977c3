// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/program/exit_status.h"
#include "scenarios/program/serve.h"
#include "tests/scenarios/program/command_run.h"

namespace orrery {
namespace {

ServeArguments tiny_arguments() {
    ServeArguments arguments;
    arguments.file = ORRERY_SOURCE_DIR "/scenarios/serve-tiny-cpu.yaml";
    arguments.overrides = {"workload.num_requests=8", "workload.request_rate=100"};
    arguments.real = true;
    return arguments;
}

CommandRun serve_real(const ServeArguments& arguments) {
    return run_command([&] { return serve_command(arguments); });
}

TEST(ServeRealCommand, PrintsTheKeysOfASimulatedRunAndThePrediction) {
    ServeArguments arguments = tiny_arguments();
    arguments.json = true;
    const CommandRun real = serve_real(arguments);
    ASSERT_EQ(real.status, kExitOk) << real.err;
    const auto json = nlohmann::json::parse(real.out);
    arguments.real = false;
    const CommandRun simulated = serve_real(arguments);
    ASSERT_EQ(simulated.status, kExitOk) << simulated.err;
    const auto keys = nlohmann::json::parse(simulated.out);
    for (const auto& [key, value] : keys.items()) {
        EXPECT_TRUE(json.contains(key)) << key;
    }
    EXPECT_EQ(json["requests"], 8);
    EXPECT_EQ(json["predicted"]["requests"], 8);
}

TEST(ServeRealCommand, WrongArgumentsAreErrors) {
    ServeArguments arguments = tiny_arguments();
    arguments.listen = "nowhere";
    EXPECT_NE(serve_real(arguments).err.find("'nowhere' is no address and port"),
              std::string::npos);
    arguments.real = false;
    EXPECT_NE(serve_real(arguments).err.find("--real"), std::string::npos);
    arguments = tiny_arguments();
    arguments.overrides.emplace_back("serving.weights=/nowhere/at/all");
    EXPECT_NE(serve_real(arguments).err.find("/nowhere/at/all"), std::string::npos);
}

}  // namespace
}  // namespace orrery
