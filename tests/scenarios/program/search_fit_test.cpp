// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "scenarios/program/exit_status.h"
#include "scenarios/program/search.h"
#include "tests/scenarios/program/command_run.h"

namespace orrery {
namespace {

SearchArguments fit_of(const char* what) {
    SearchArguments arguments;
    arguments.file = ORRERY_SOURCE_DIR "/scenarios/laptop-2gpu.yaml";
    arguments.fit = what;
    arguments.json = true;
    return arguments;
}

// With half of the memory less fits.
TEST(SearchFit, AnswersWithTheMostThatFits) {
    const auto most = [](const char* what, std::vector<std::string> overrides) {
        SearchArguments arguments = fit_of(what);
        arguments.overrides = std::move(overrides);
        const CommandRun run = run_command([&] { return search_command(arguments); });
        EXPECT_EQ(run.status, kExitOk) << run.err;
        return nlohmann::json::parse(run.out)["most"].get<std::int64_t>();
    };
    const std::vector<std::string> smaller{"cluster.node.device.memory=4 GiB"};
    EXPECT_GT(most("sequence", {}), most("sequence", smaller));
    EXPECT_GT(most("layers", {}), most("layers", smaller));
}

TEST(SearchFit, RefusesWhatItDoesNotKnow) {
    const SearchArguments arguments = fit_of("batch");
    const CommandRun run = run_command([&] { return search_command(arguments); });
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_NE(run.err.find("sequence, layers, tiers or recompute"), std::string::npos) << run.err;
    SearchArguments written = fit_of("layers");
    written.output = "best.yaml";
    EXPECT_EQ(run_command([&] { return search_command(written); }).status, kExitUserError);
}

}  // namespace
}  // namespace orrery
