// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/stop_signals.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(StopSignals, AreAskedForInsteadOfEndingTheProcess) {
    const StopSignals signals;
    EXPECT_EQ(signals.pending(), 0);
    raise(SIGTERM);
    EXPECT_EQ(signals.pending(), SIGTERM);
    EXPECT_EQ(signals.pending(), 0);
}

// As nohup leaves SIGHUP to the program that it starts.
TEST(StopSignals, LeaveIgnoredSignalsIgnored) {
    const auto before = std::signal(SIGHUP, SIG_IGN);
    {
        const StopSignals signals;
        raise(SIGHUP);
        EXPECT_EQ(signals.pending(), 0);
    }
    std::signal(SIGHUP, before);
}

}  // namespace
}  // namespace orrery
