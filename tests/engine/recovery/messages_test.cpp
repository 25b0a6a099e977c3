// SPDX-License-Identifier: Apache-2.0
#include "engine/recovery/messages.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(Messages, ALineSaysAllThatCounts) {
    Observation o{.time = WallTime::seconds(12),
                  .kind = ObservationKind::fault_detected,
                  .detector = Detector::node_agent,
                  .fault = FaultKind::gpu_lost,
                  .nodes = {3, 17},
                  .step = 100,
                  .durable_step = 90};
    EXPECT_EQ(to_line(o),
              "12000000 fault_detected step 100 durable 90 memory -1 gpu_lost by node_agent "
              "node:3 node:17");
    EXPECT_EQ(to_line(Action{.kind = ActionKind::replace, .node = 5, .slot = 2}),
              "replace slot 2 by node:5");
    EXPECT_EQ(to_line(Action{.kind = ActionKind::restart,
                             .source = RestoreSource::memory,
                             .extent = RestartExtent::members,
                             .step_max = 80,
                             .checkpoints_back = 2,
                             .skip_batches = true}),
              "restart members from memory at most step 80 2 checkpoints back skipping batches");
    EXPECT_EQ(to_line(Action{.kind = ActionKind::set_interval, .interval = WallTime::seconds(1)}),
              "set_interval 1000000");
}

TEST(Messages, EveryKindHasAName) {
    for (int i = 0; i <= static_cast<int>(ObservationKind::checked); ++i) {
        EXPECT_FALSE(name(static_cast<ObservationKind>(i)).empty());
    }
    for (int i = 0; i <= static_cast<int>(ActionKind::check); ++i) {
        EXPECT_FALSE(name(static_cast<ActionKind>(i)).empty());
    }
}

}  // namespace
}  // namespace orrery
