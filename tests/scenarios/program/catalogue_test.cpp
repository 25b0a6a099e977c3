// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/catalogue.h"

#include <gtest/gtest.h>

#include "scenarios/program/exit_status.h"
#include "tests/scenarios/program/command_run.h"

namespace orrery {
namespace {

CommandRun run(const CatalogueArguments& arguments) {
    return run_command([&] { return catalogue_command(arguments); });
}

TEST(CatalogueCommand, ListsEverySection) {
    const CommandRun ran = run({});
    EXPECT_EQ(ran.status, kExitOk);
    for (const char* name :
         {"h100-80g", "dgx-h100", "megascale-clos", "gpt-175b", "megascale-clos-dcqcn"}) {
        EXPECT_NE(ran.out.find(name), std::string::npos) << name;
    }
}

TEST(CatalogueCommand, ShowsOneEntryWithItsSources) {
    const CommandRun ran = run({.name = "a100-80g"});
    EXPECT_NE(ran.out.find("NVIDIA A100 datasheet"), std::string::npos) << ran.out;
    EXPECT_EQ(ran.out.find("h100-80g"), std::string::npos);
}

TEST(CatalogueCommand, AnUnknownNameIsAnErrorWithTheNearest) {
    const CommandRun ran = run({.name = "dgx-h10"});
    EXPECT_EQ(ran.status, kExitUserError);
    EXPECT_NE(ran.err.find("dgx-h100"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace orrery
