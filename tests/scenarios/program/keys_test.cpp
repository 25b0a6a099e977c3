// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/keys.h"

#include <gtest/gtest.h>

#include "scenarios/program/exit_status.h"
#include "tests/scenarios/program/command_run.h"

namespace orrery {
namespace {

CommandRun keys(const KeysArguments& arguments) {
    return run_command([&] { return keys_command(arguments); });
}

TEST(KeysCommand, ListsASection) {
    const CommandRun ran = keys({.name = "plan"});
    EXPECT_EQ(ran.status, kExitOk);
    EXPECT_NE(ran.out.find("plan.pipeline_layout"), std::string::npos) << ran.out;
    EXPECT_EQ(ran.out.find("model.hidden_size"), std::string::npos);
    const std::string all = keys({}).out;
    EXPECT_NE(all.find("plan.pipeline_layout"), std::string::npos);
    EXPECT_NE(all.find("model.hidden_size"), std::string::npos);
}

TEST(KeysCommand, ShowsOneKeyByItsNameWithOrWithoutSection) {
    const CommandRun ran = keys({.name = "plan.schedule"});
    EXPECT_EQ(
        ran.out,
        "plan.schedule\n"
        "    Order of a pipeline's passes; with virtual stages interleaved_1f1b if not given.\n"
        "    values      gpipe, 1f1b, interleaved_1f1b, breadth_first, zero_bubble, dualpipe, "
        "dualpipev\n"
        "    default     1f1b\n"
        "    search      varies it\n");
    EXPECT_EQ(keys({.name = "schedule"}).out, ran.out);
    EXPECT_EQ(keys({.name = "mbs"}).out, keys({.name = "plan.micro_batch_size"}).out);
}

TEST(KeysCommand, AnUnknownNameIsAnErrorWithTheNearest) {
    const CommandRun ran = keys({.name = "plan.shedule"});
    EXPECT_EQ(ran.status, kExitUserError);
    EXPECT_NE(ran.err.find("plan.schedule"), std::string::npos) << ran.err;
    // Another program's word for it.
    const std::string zero = keys({.name = "zero_stage"}).err;
    EXPECT_NE(zero.find("plan.data_parallel_sharding_strategy"), std::string::npos) << zero;
    // What papers call a key, though names of other keys look like it.
    const std::string short_zero = keys({.name = "zero"}).err;
    EXPECT_NE(short_zero.find("data_parallel_sharding_strategy"), std::string::npos) << short_zero;
    EXPECT_LT(keys({.name = "cluster.nodes"}).err.size(), 200u);
}

TEST(KeysCommand, JsonSaysWhatMadeIt) {
    KeysArguments json{.name = "plan.optimizer"};
    json.json = true;
    const CommandRun ran = keys(json);
    EXPECT_NE(ran.out.find("\"provenance\""), std::string::npos);
    EXPECT_NE(ran.out.find("adam, lamb"), std::string::npos) << ran.out;
}

}  // namespace
}  // namespace orrery
