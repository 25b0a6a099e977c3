// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/unread_keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "tests/scenarios/program/command_run.h"

namespace orrery {
namespace {

TEST(UnreadKeys, AChangeWithoutEffectIsAnErrorBeforeTheCommandRuns) {
    std::vector<std::string> overrides{"campaign.days=3", "plan.micro_batch_size=2", "search={}"};
    std::vector<std::string> others;
    bool ran = false;
    std::vector<Command> commands{
        {.name = "simulate",
         .options = {override_option(overrides, keys_of_step())},
         .run =
             [&] {
                 ran = true;
                 return kExitOk;
             }},
        {.name = "campaign", .options = {override_option(others, {{"campaign"}})}, .run = {}}};
    check_overrides_first(commands);
    const CommandRun run = run_command([&] { return commands[0].run(); });
    EXPECT_EQ(run.status, kExitUserError);
    EXPECT_FALSE(ran);
    EXPECT_EQ(run.err,
              "--set campaign.days: error: orrery simulate does not read this key (hint: leave it "
              "out; read by orrery campaign)\n"
              "--set search: error: orrery simulate does not read this key (hint: leave it out)\n");
    overrides = {"plan.micro_batch_size=2"};
    EXPECT_EQ(commands[0].run(), kExitOk);
    EXPECT_TRUE(ran);
}

TEST(UnreadKeys, ACommandWithoutDeclaredKeysReadsNone) {
    std::vector<std::string> overrides{"plan.micro_batch_size=2"};
    std::vector<Command> commands{{.name = "new",
                                   .options = {override_option(overrides, {})},
                                   .run = [] { return kExitOk; }}};
    check_overrides_first(commands);
    EXPECT_EQ(run_command([&] { return commands[0].run(); }).status, kExitUserError);
}

// Sets the variable of the option called `names`.
template <class Value>
void set(Command& command, const std::string& names, const Value& value) {
    const auto option = std::ranges::find(command.options, names, &CommandOption::names);
    ASSERT_NE(option, command.options.end()) << names;
    *std::get<Value*>(option->target) = value;
}

std::string error_of(const std::string& name,
                     const std::string& change,
                     const std::string& file = ORRERY_SOURCE_DIR "/scenarios/laptop-2gpu.yaml",
                     const std::string& flag = "") {
    std::vector<Command> commands = all_commands();
    Command& command = *std::ranges::find(commands, name, &Command::name);
    set(command, "file", file);
    set(command, "--set", std::vector<std::string>{change});
    if (!flag.empty()) {
        set(command, flag, true);
    }
    const CommandRun run = run_command([&] { return command.run(); });
    return run.status == kExitUserError ? run.err : "";
}

TEST(UnreadKeys, FaultsOfWeeksNeedTheObjectiveOrTheSupervisorThatReadsThem) {
    const std::string days = "campaign.days=3";
    EXPECT_NE(error_of("search", days)
                  .find("orrery search reads this key only with search.objective=goodput"),
              std::string::npos)
        << error_of("search", days);
    EXPECT_NE(error_of("train", days).find("orrery train reads this key only with --supervise"),
              std::string::npos)
        << error_of("train", days);
    EXPECT_NE(error_of("train", "recovery={}").find("only with --supervise"), std::string::npos);
    const std::string supervised =
        error_of("train", days, ORRERY_SOURCE_DIR "/scenarios/laptop-2gpu.yaml", "--supervise");
    EXPECT_EQ(supervised.find("reads this key"), std::string::npos) << supervised;
    EXPECT_NE(supervised.find("job.dataset"), std::string::npos) << supervised;
}

TEST(UnreadKeys, StudiesHaveTheKeysOfSteps) {
    EXPECT_EQ(unread_in_study("plan.micro_batch_size").what, "");
    const Error error = unread_in_study("campaign.days");
    EXPECT_EQ(error.what, "orrery sweep does not read this key");
    EXPECT_EQ(error.hint, "leave it out; read by orrery search, orrery campaign, orrery train");
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
