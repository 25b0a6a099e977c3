// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/import.h"

#include <gtest/gtest.h>

#include "scenarios/program/exit_status.h"
#include "tests/scenarios/program/command_run.h"

namespace orrery {
namespace {

CommandRun run(const ImportArguments& arguments) {
    return run_command([&] { return import_command(arguments); });
}

TEST(ImportCommand, SaysWhichFormatsItKnows) {
    const CommandRun ran = run({.format = "odt"});
    EXPECT_EQ(ran.status, kExitUserError);
    EXPECT_NE(ran.err.find("megatron, hf, nccl-tests, log"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace orrery
