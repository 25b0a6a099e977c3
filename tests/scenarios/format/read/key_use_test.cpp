// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/key_use.h"

#include <gtest/gtest.h>

#include <string>

namespace orrery {
namespace {

TEST(KeyUse, ACommandReadsTheKeysOfItsSections) {
    struct Case {
        const char* command;
        const char* path;
        bool reads;
    };
    constexpr Case kCases[] = {{"simulate", "plan.micro_batch_size", true},
                               {"simulate", "cluster.nodes", true},
                               {"simulate", "campaign.days", false},
                               {"simulate", "campaign.detection.collective_timeout", true},
                               {"simulate", "campaign.detection.progress_watchdog", false},
                               {"simulate", "campaign", true},        // some keys of the section
                               {"simulate", "campaigns.days", true},  // the reader's error
                               {"simulate", "recovery[0].policies", false},
                               {"simulate", "search.objective", false},
                               {"simulate", "job.seed", true},
                               {"simulate", "job.dataset", false},
                               {"simulate", "job.datasett", true},  // the reader's error
                               {"campaign", "job.distributed_timeout", true},
                               {"train", "job.dataset", true},
                               {"train", "recovery.policies", true},
                               {"train", "search.objective", false},
                               {"search", "search.objective", true},
                               {"campaign", "campaign.days", true},
                               {"network", "cluster.nodes", true},
                               {"network", "model.num_layers", false},
                               {"network", "job.seed", false},
                               {"serve", "model.num_layers", true},
                               {"serve", "serving.engine", true},
                               {"serve", "campaign.seeds", true},
                               {"show", "campaign.days", true},
                               {"diff", "search.objective", true},
                               {"simulate", "", true}};
    for (const Case& one : kCases) {
        EXPECT_EQ(unread_key(one.command, one.path).what.empty(), one.reads)
            << one.command << " " << one.path;
    }
}

TEST(KeyUse, TheHintNamesTheCommandsThatReadTheKey) {
    const Error error = unread_key("explain", "recovery");
    EXPECT_EQ(error.what, "orrery explain does not read this key");
    EXPECT_EQ(error.hint, "leave it out; read by orrery campaign, orrery search, orrery train");
}

}  // namespace
}  // namespace orrery
