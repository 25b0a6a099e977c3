// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/waiting_line.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(WaitingLine, SaysForWhatAndUntilWhen) {
    EXPECT_EQ(waiting_line({0}, {{.node = 3, .seconds_left = 86400}}),
              "no spare is left for slot 0; node 3 is expected back in 24.0 h "
              "(campaign.repair.time); stop with Ctrl-C, go on later with --resume");
    EXPECT_EQ(waiting_line({0, 2},
                           {{.node = 1, .seconds_left = -1},
                            {.node = 3, .seconds_left = 90},
                            {.node = 2, .seconds_left = 600},
                            {.node = 4, .seconds_left = 700}}),
              "no spare is left for slots 0, 2; node 1 is repaired and starts, node 3 is expected "
              "back in 90 s (campaign.repair.time), node 2 is expected back in 10 min "
              "(campaign.repair.time) and 1 more later; stop with Ctrl-C, go on later with "
              "--resume");
    EXPECT_EQ(waiting_line({}, {}),
              "waits for a node; no node is in repair: none will come back; stop with Ctrl-C, go "
              "on later with --resume");
}

}  // namespace
}  // namespace orrery
