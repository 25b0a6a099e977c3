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

}  // namespace
}  // namespace orrery
