// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/unread_keys.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "tests/scenarios/program/command_run.h"

namespace orrery {
namespace {

TEST(UnreadKeys, AChangeWithoutEffectIsAnErrorBeforeTheCommandRuns) {
    std::vector<std::string> overrides{"campaign.days=3", "plan.micro_batch_size=2", "search={}"};
    bool ran = false;
    Command command{.name = "simulate", .options = {override_option(overrides)}, .run = [&] {
                        ran = true;
                        return kExitOk;
                    }};
    check_overrides_first(command);
    const CommandRun run = run_command([&] { return command.run(); });
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_FALSE(ran);
    EXPECT_EQ(run.err,
              "--set campaign.days: error: orrery simulate does not read this key (hint: leave it "
              "out; read by orrery campaign, orrery search, orrery serve, orrery train)\n"
              "--set search: error: orrery simulate does not read this key (hint: leave it out; "
              "read by orrery search)\n");
    overrides = {"plan.micro_batch_size=2"};
    EXPECT_EQ(command.run(), kExitOk);
    EXPECT_TRUE(ran);
}

TEST(UnreadKeys, EveryCommandWithChangesRefusesThem) {
    int refused = 0;
    for (const Command& command : all_commands()) {
        const bool reads = command.name == "search" || command.name == "check" ||
                           command.name == "show" || command.name == "diff";
        for (const CommandOption& option : command.options) {
            if (option.names == "--set" && !reads) {
                **std::get_if<std::vector<std::string>*>(&option.target) = {"search.objective=mfu"};
                const CommandRun run = run_command([&] { return command.run(); });
                EXPECT_EQ(run.status, kExitUserError) << command.name;
                EXPECT_NE(run.err.find("orrery " + command.name + " does not read this key"),
                          std::string::npos)
                    << command.name << ": " << run.err;
                ++refused;
            }
        }
    }
    EXPECT_GE(refused, 9);
}

}  // namespace
}  // namespace orrery
