// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/campaign/recorded_events.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/recovery/policies/policies.h"
#include "runtime/supervisor/event_log.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

const std::vector<PolicySpec> kPolicies{HotSpares{}};

// What a supervisor would have written.
std::string recorded(const std::filesystem::path& path) {
    RecoveryMachine machine{{.slots = 2, .units = 2}, 3, make_ladder(kPolicies)};
    const auto log = EventLog::open(path);
    (*log)->job({.slots = 2, .units = 2}, 3, {"spares"});
    machine.start();
    std::string actions;
    const auto hear = [&](Observation o, double at) {
        o.time = WallTime::seconds(at);
        const auto ordered = machine.observe(o);
        (*log)->exchange(o, ordered);
        for (const Action& action : ordered) {
            actions += to_line(action) + "\n";
        }
    };
    hear({.kind = ObservationKind::training_started}, 1);
    (*log)->event(WallTime::seconds(2), "for people");
    hear({.kind = ObservationKind::fault_detected,
          .detector = Detector::heartbeat,
          .nodes = {1},
          .step = 12,
          .durable_step = 10},
         3);
    hear({.kind = ObservationKind::training_started, .step = 10}, 4);
    hear({.kind = ObservationKind::fault_detected,
          .detector = Detector::progress_watchdog,
          .fault = FaultKind::job_hang,
          .step = 15},
         5);
    hear({.kind = ObservationKind::diagnosis_done, .nodes = {0}}, 6);
    hear({.kind = ObservationKind::node_ready, .nodes = {1}}, 7);
    hear({.kind = ObservationKind::checked, .nodes = {1}, .slow = {0}}, 8);
    return actions;
}

TEST(RecordedEvents, ReplayedTheyOrderTheSameByteForByte) {
    const TestFolder folder;
    const std::string actions = recorded(folder / "events");
    const auto events = read_events(folder / "events");
    ASSERT_TRUE(events) << events.error().front().to_string();
    EXPECT_EQ(events->nodes, 3u);
    EXPECT_EQ(events->observations.size(), 7u);
    EXPECT_EQ(events->observations.back().slow, std::vector<NodeNumber>{0});
    EXPECT_EQ(events->actions, actions);
    EXPECT_NE(actions.find("wait"), std::string::npos);
    EXPECT_EQ(replay_events(*events, make_ladder(kPolicies), {}), actions);
    // With other policies other actions follow.
    EXPECT_NE(replay_events(*events, make_ladder({ElasticDataParallel{}}), {}), actions);
}

TEST(RecordedEvents, NonsenseIsAnError) {
    const TestFolder folder;
    const auto refused = [&](const std::string& text) {
        folder.write("events", text);
        return !read_events(folder / "events");
    };
    const std::string job =
        R"({"job":{"nodes":3,"slots":2,"units":2,"stages":1,"nodes_per_place":1},"policies":[]})"
        "\n";
    EXPECT_FALSE(refused(job));
    EXPECT_TRUE(refused(""));
    EXPECT_TRUE(refused("{"));
    EXPECT_TRUE(refused("[1]\n"));
    EXPECT_TRUE(refused(R"({"t_us":1,"action":"wait"})"));
    EXPECT_TRUE(refused(job + R"({"t_us":1,"observation":{"kind":"tea_time"}})"));
    EXPECT_TRUE(refused(job + R"({"t_us":1,"observation":7})"));
    EXPECT_TRUE(refused(
        R"({"job":{"nodes":1,"slots":2,"units":2,"stages":1,"nodes_per_place":1},"policies":[]})"));
    EXPECT_FALSE(read_events(folder / "nowhere"));
    const auto error_of = [&](const std::string& text) {
        folder.write("events", text);
        return read_events(folder / "events").error().front().to_string();
    };
    const std::string file = (folder / "events").string();
    EXPECT_TRUE(error_of("# no log\n").starts_with(file + ":1:1: error: not valid JSON"))
        << error_of("# no log\n");
    EXPECT_TRUE(error_of(job + "\n{\"t_us\": x}\n").starts_with(file + ":2:1: error"));
    EXPECT_TRUE(error_of(job + "{\"t_us\": x}\n").starts_with(file + ":2:10: error: not valid"));
    EXPECT_NE(read_events(folder.path()).error().front().to_string().find("is a folder"),
              std::string::npos);
}

TEST(RecordedEvents, EveryKindOfObservationAndDetectorComesBack) {
    const TestFolder folder;
    std::vector<Observation> told;
    {
        const auto log = EventLog::open(folder / "events");
        (*log)->job({.slots = 2, .units = 2}, 3, {"spares"});
        for (std::size_t i = 0; i < std::max(kNumObservationKinds, kNumDetectors); ++i) {
            told.push_back(
                {.time = WallTime::seconds(static_cast<double>(i)),
                 .kind = static_cast<ObservationKind>(std::min(i, kNumObservationKinds - 1)),
                 .detector = static_cast<Detector>(std::min(i, kNumDetectors - 1))});
            (*log)->exchange(told.back(), {});
        }
    }
    const auto events = read_events(folder / "events");
    ASSERT_TRUE(events) << events.error().front().to_string();
    ASSERT_EQ(events->observations.size(), told.size());
    for (std::size_t i = 0; i < told.size(); ++i) {
        EXPECT_EQ(events->observations[i].kind, told[i].kind) << i;
        EXPECT_EQ(events->observations[i].detector, told[i].detector) << i;
    }
}

}  // namespace
}  // namespace orrery
