// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/explain_error.h"

#include <gtest/gtest.h>

#include "scenarios/program/exit_status.h"
#include "tests/scenarios/program/command_run.h"

namespace orrery {
namespace {

CommandRun explain(const std::string& name, const std::string& file = {}) {
    return run_command([&] {
        ExplainErrorArguments arguments;
        arguments.name = name;
        arguments.file = file;
        return explain_error_command(arguments);
    });
}

TEST(ExplainErrorCommand, SaysWhereTheStepGoesAndWhatWouldMoveIt) {
    const CommandRun run = explain("KO-175B-selsp");
    EXPECT_EQ(run.status, kExitOk) << run.err;
    for (const char* text : {"KO-175B-selsp (megatron-lm, 64 GPUs a100-80g)",
                             "measured",
                             "90 % interval",
                             "model FLOPs at the peak",
                             "exposed tensor-parallel",
                             "overlap_p2p"}) {
        EXPECT_NE(run.out.find(text), std::string::npos) << text << "\n" << run.out;
    }
}

TEST(ExplainErrorCommand, NamesTheNearestCase) {
    const CommandRun run = explain("KO-175B-selps");
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_NE(run.err.find("KO-175B-selsp"), std::string::npos) << run.err;
    EXPECT_EQ(explain("KO-175B-selsp", "/nowhere.csv").status, kExitUserError);
}

}  // namespace
}  // namespace orrery
