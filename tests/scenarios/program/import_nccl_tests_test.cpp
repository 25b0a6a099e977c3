// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>

#include "scenarios/format/document/yaml_document.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/import.h"
#include "tests/scenarios/program/command_run.h"
#include "tests/test_folder.h"

namespace orrery {
namespace import_nccl_tests_test {

CommandRun run(const ImportArguments& arguments) {
    return run_command([&] { return import_command(arguments); });
}

TEST(ImportNcclTests, WhatIsNoTableIsAnError) {
    EXPECT_NE(run({.format = "nccl-tests", .words = {"none.txt"}}).err.find("none.txt"),
              std::string::npos);
    const TestFolder folder;
    const std::string empty = folder.write("t", "");
    EXPECT_EQ(run({.format = "nccl-tests", .words = {empty}}).status, kExitUserError);
    EXPECT_NE(run({.format = "nccl-tests", .words = {empty}, .collective = "all_reduces"})
                  .err.find("--collective: error"),
              std::string::npos);
}

}  // namespace import_nccl_tests_test
}  // namespace orrery
