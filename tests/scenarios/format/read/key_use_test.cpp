// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/key_use.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace orrery {
namespace {

std::vector<KeyReader> readers() {
    return {{"step", {{"plan"}, {"job.seed"}, {"campaign.detection.collective_timeout"}}},
            {"weeks", {{"campaign"}, {"recovery"}}},
            {"whole", {{""}}}};
}

TEST(KeyUse, ACommandReadsItsKeysAndThoseBelowAndAboveThem) {
    struct Case {
        const char* path;
        bool reads;
    };
    constexpr Case kCases[] = {{"plan.micro_batch_size", true},
                               {"plan", true},
                               {"campaign.days", false},
                               {"campaign.detection.collective_timeout", true},
                               {"campaign.detection.progress_watchdog", false},
                               {"campaign", true},        // some keys of the section
                               {"campaigns.days", true},  // the reader's error
                               {"recovery[0].policies", false},
                               {"job.seed", true},
                               {"job.dataset", false},
                               {"job.datasett", true},  // the reader's error
                               {"", true}};
    const std::vector<KeyReader> all = readers();
    for (const Case& one : kCases) {
        EXPECT_EQ(unread_key(all[0], one.path, all).what.empty(), one.reads) << one.path;
        EXPECT_EQ(unread_key(all[2], one.path, all).what, "") << one.path;
    }
}

TEST(KeyUse, TheHintNamesTheOtherCommandsThatReadTheKey) {
    const std::vector<KeyReader> all = readers();
    const Error error = unread_key(all[0], "recovery", all);
    EXPECT_EQ(error.what, "orrery step does not read this key");
    EXPECT_EQ(error.hint, "leave it out; read by orrery weeks");
    EXPECT_EQ(unread_key(all[0], "search.objective", all).hint, "leave it out");
}

TEST(KeyUse, AKeyIsReadOnlyUnderItsCondition) {
    bool supervised = false;
    const KeyReader run{"run", {{"recovery", "with --supervise", [&] { return supervised; }}}};
    const std::vector<KeyReader> all{run};
    EXPECT_EQ(unread_key(run, "recovery.policies", all).what,
              "orrery run reads this key only with --supervise");
    supervised = true;
    EXPECT_EQ(unread_key(run, "recovery.policies", all).what, "");
}

}  // namespace
}  // namespace orrery
