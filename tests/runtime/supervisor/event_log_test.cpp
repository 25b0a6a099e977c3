// SPDX-License-Identifier: Apache-2.0
// Reading it back: tests/scenarios/studies/campaign/recorded_events_test.cpp.
#include "runtime/supervisor/event_log.h"

#include <gtest/gtest.h>

#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(EventLog, IsAnObjectALine) {
    const TestFolder folder;
    const auto log = EventLog::open(folder / "events");
    ASSERT_TRUE(log);
    (*log)->job({.slots = 2, .units = 2}, 3, {"spares"});
    (*log)->event(WallTime::seconds(1), "a \"quoted\" word");
    (*log)->exchange({.time = WallTime::seconds(2),
                      .kind = ObservationKind::fault_detected,
                      .detector = Detector::heartbeat,
                      .nodes = {0, 1},
                      .step = 17,
                      .durable_step = 10},
                     {{.kind = ActionKind::evict, .node = 1}});
    EXPECT_EQ(
        read_text(folder / "events"),
        "{\"job\":{\"nodes\":3,\"slots\":2,\"units\":2,\"stages\":1,\"unit_major\":true,"
        "\"nodes_per_place\":1,\"state_sharded\":false},\"policies\":[\"spares\"]}\n"
        "{\"t_us\":1000000,\"event\":\"a \\\"quoted\\\" word\"}\n"
        "{\"t_us\":2000000,\"observation\":{\"kind\":\"fault_detected\",\"detector\":\"heartbeat\","
        "\"fault\":\"node_crash\",\"nodes\":[0,1],\"slow\":[],\"step\":17,\"durable_step\":10,"
        "\"memory_step\":-1,\"verified_step\":0}}\n"
        "{\"t_us\":2000000,\"action\":\"evict node:1\"}\n");
}

TEST(EventLog, AnUnwritablePlaceIsAnError) {
    EXPECT_FALSE(EventLog::open("/no/such/folder/events"));
    EXPECT_TRUE(EventLog::open(""));
}

}  // namespace
}  // namespace orrery
