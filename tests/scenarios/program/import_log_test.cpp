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
namespace import_log_test {

CommandRun run(const ImportArguments& arguments) {
    return run_command([&] { return import_command(arguments); });
}

TEST(ImportLog, EveryFileThatIsNoLogIsNamed) {
    const TestFolder folder;
    const CommandRun ran =
        run({.format = "log", .words = {folder.write("a.log", "no steps\n"), "none.log"}});
    EXPECT_EQ(ran.status, kExitUserError);
    EXPECT_EQ(ran.out, "");
    for (const char* name : {"a.log", "none.log"}) {
        EXPECT_NE(ran.err.find(name), std::string::npos) << ran.err;
    }
}

}  // namespace import_log_test
}  // namespace orrery
