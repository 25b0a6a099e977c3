// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/campaign/supervised_job.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "scenarios/format/read/reader.h"

namespace orrery {
namespace {

Scenario drill(std::vector<std::string> overrides = {}) {
    const auto scenario = read_scenario(ORRERY_SOURCE_DIR "/scenarios/drill-cpu-4.yaml",
                                        {.overrides = std::move(overrides)});
    EXPECT_TRUE(scenario) << scenario.error().front().to_string();
    return *scenario;
}

double seconds_of(const Incident& incident) {
    return static_cast<double>(incident.end_us - incident.begin_us) * 1e-6;
}

std::string refusal(std::vector<std::string> overrides) {
    const auto job = supervised_job(drill(std::move(overrides)));
    EXPECT_FALSE(job);
    return job ? "" : job.error().front().to_string();
}

TEST(SupervisedJob, IsTheScenarios) {
    const auto job = supervised_job(drill());
    ASSERT_TRUE(job);
    EXPECT_EQ(job->nodes, 5u);  // one is a spare
    EXPECT_EQ(job->shape.units, 4u);
    EXPECT_EQ(job->steps, 60);
    EXPECT_EQ(job->repair.count(), 1000);
}

TEST(SupervisedJob, WhatARealRunCannotDoIsRefused) {
    EXPECT_NE(refusal({"job.drill=false"}).find("not marked as a drill"), std::string::npos);
    EXPECT_NE(refusal({"recovery.policies=[reroute]"}).find("reroute"), std::string::npos);
    EXPECT_NE(refusal({"job.distributed_timeout=3 s"}).find("progress_watchdog"),
              std::string::npos);
    EXPECT_NE(refusal({"faults=[{step: 3, at: \"rack:0\", kind: power_loss}]"}).find("power_loss"),
              std::string::npos);
    EXPECT_NE(refusal({"recovery.policies=[elastic]", "plan.global_batch_size=8"}).find("shared"),
              std::string::npos);
}

// A scenario may serve campaigns, too: only what comes by a step is injected.
TEST(SupervisedJob, FaultsOfWeeksAreLeftOut) {
    const Scenario scenario =
        drill({"faults=[{t: 3 s, at: \"node:1\", kind: node_crash}, {step: 17, at: \"node:2\", "
               "kind: node_crash}, {process: exponential, kind: power_loss, mtbf: 1 d}]"});
    EXPECT_EQ(drill_schedule(scenario).size(), 1u);
    const auto job = supervised_job(scenario);
    ASSERT_TRUE(job) << job.error().front().to_string();
    EXPECT_EQ(predicted_log(scenario, *job, 0.02), predicted_log(drill(), *job, 0.02));
    EXPECT_TRUE(supervised_job(drill(
        {"job.drill=false", "faults=[{process: exponential, kind: power_loss, mtbf: 1 d}]"})));
}

// Whatever the timeouts are, the supervisor looks before ranks give up.
TEST(SupervisedJob, AHangIsSeenBeforeRanksGiveUp) {
    const auto detected = [](DetectionSpec spec, double timeout) {
        return real_detection(spec, Time::seconds(timeout), "campaign.detection");
    };
    for (const double timeout : {0.5, 4.0, 120.0, 3600.0}) {
        const auto usual = detected({}, timeout);
        ASSERT_TRUE(usual);
        const Detection hang = hang_detection(*usual);
        EXPECT_LT(hang.latency.seconds(), 0.91 * timeout);
        EXPECT_EQ(hang.detector,
                  timeout < 600 ? Detector::progress_watchdog : Detector::collective_timeout);
    }
    EXPECT_EQ(hang_detection(*detected({.progress_watchdog = WallTime::seconds(3)}, 120)).latency,
              WallTime::seconds(3));
    EXPECT_EQ(hang_detection(*detected({.collective_timeout = WallTime::seconds(5)}, 120)).latency,
              WallTime::seconds(5));
    const auto late = detected({.progress_watchdog = WallTime::seconds(119)}, 120);
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().where, "campaign.detection.progress_watchdog");
    EXPECT_NE(late.error().hint.find("90.0 s"), std::string::npos) << late.error().hint;
}

TEST(SupervisedJob, WhatIsPredictedIsTheDetectorThatFires) {
    const Scenario scenario =
        drill({"faults=[{step: 5, at: \"node:0\", kind: gpu_hang}, {step: 9, at: \"node:1\", "
               "kind: host_fault}]",
               "campaign.detection={}",
               "job.distributed_timeout=20 s"});
    const auto job = supervised_job(scenario);
    ASSERT_TRUE(job) << job.error().front().to_string();
    // Without signs of life for 30 s a node is lost: the watchdog, at 15 s, is earlier.
    EXPECT_EQ(predicted_detection_s(scenario, *job),
              (std::map<std::int64_t, double>{{5, 15.0}, {9, 15.0}}));
}

std::vector<std::string> lines_of(const Incident& incident) {
    std::vector<std::string> lines;
    for (const Action& action : incident.actions) {
        lines.push_back(to_line(action));
    }
    return lines;
}

TEST(SupervisedJob, APredictionResumesFromTheLastCheckpoint) {
    const Scenario scenario = drill();
    const StartTimes first{.processes_s = 0.5, .meeting_s = 0.1, .state_s = 0.2};
    const auto job = supervised_job(scenario);
    ASSERT_TRUE(job);
    const auto incidents = incidents_of(predicted_log(scenario, *job, 0.02, first));
    ASSERT_EQ(incidents.size(), 1u);
    EXPECT_EQ(incidents[0].step, 17);
    EXPECT_EQ(incidents[0].resumed_step, 10);
    EXPECT_EQ(incidents[0].lost_steps(), 7);
    EXPECT_EQ(lines_of(incidents[0]),
              (std::vector<std::string>{
                  "evict node:2", "replace slot 2 by node:4", "restart full from remote"}));
    // As long as the first start.
    EXPECT_NEAR(seconds_of(incidents[0]), 0.5 + 0.1 + 0.2, 1e-3);
    EXPECT_EQ(predicted_detection_s(scenario, *job), (std::map<std::int64_t, double>{{17, 0.15}}));
}

// Four files are checked one after the other, or copied as well; nothing is drawn that a state has.
TEST(SupervisedJob, APredictionCountsWhatTheStateTakes) {
    const StartTimes first{.processes_s = 0.5, .meeting_s = 0.1, .state_s = 0.2, .drawing_s = 0.05};
    const StoreTimes store{.save_s = 0.3, .check_s = 0.01, .copy_s = 0.02};
    constexpr double kStep = 0.02;
    const auto took = [&](std::vector<std::string> overrides) {
        const Scenario scenario = drill(std::move(overrides));
        const auto job = supervised_job(scenario);
        EXPECT_TRUE(job);
        return incidents_of(predicted_log(scenario, *job, kStep, first, store));
    };
    EXPECT_NEAR(seconds_of(took({}).at(0)), 0.5 + 0.1 + 0.15 + 4 * 0.01, 1e-3);
    const std::string peers = "recovery.policies=[{spares: {count: 1}}, peer_checkpoint]";
    EXPECT_NEAR(seconds_of(took({peers}).at(0)), 0.5 + 0.1 + 0.15 + 4 * 0.03, 1e-3);
    // Who comes back is waited for until a step and a checkpoint are complete.
    const auto elastic = took({"recovery.policies=[elastic]", "job.steps=200"});
    const double turns = std::max(1.0, 4.0 / std::max(1U, std::thread::hardware_concurrency()));
    EXPECT_NEAR(seconds_of(elastic.at(0)), 0.1 + 0.15 + 4 * 0.03, 1e-3);
    EXPECT_NEAR(seconds_of(elastic.at(1)), 0.1 + 0.15 + 4 * 0.03 + 0.5 * kStep + 0.3 * turns, 1e-3);
}

TEST(SupervisedJob, ARanksFileHasWhatItsRankHolds) {
    const std::int64_t parameters = num_parameters(drill().model);
    EXPECT_EQ(state_bytes_of_rank(drill()), 12 * parameters);
    EXPECT_EQ(state_bytes_of_rank(drill({"plan.precision=bf16"})), 14 * parameters);
    EXPECT_EQ(state_bytes_of_rank(
                  drill({"plan.precision=bf16", "plan.data_parallel_sharding_strategy=optim"})),
              (2 + 3) * parameters);
}

Observation seen(std::int64_t us, ObservationKind kind, std::int64_t step) {
    return {.time = WallTime::microseconds(us), .kind = kind, .step = step};
}

TEST(Incidents, ANodeThatWasReadyDuringARestartIsTakenBackInOneOfItsOwn) {
    const Action replace{.kind = ActionKind::replace, .node = 1, .slot = 1};
    const auto incidents =
        incidents_of({{seen(5, ObservationKind::training_started, 0), {}},
                      {seen(11, ObservationKind::fault_detected, 4), {{.kind = ActionKind::drop}}},
                      {seen(15, ObservationKind::node_ready, 4), {}},
                      {seen(20, ObservationKind::training_started, 4), {replace}},
                      {seen(30, ObservationKind::training_started, 4), {}}});
    ASSERT_EQ(incidents.size(), 2u);
    EXPECT_EQ(incidents[1].what, ObservationKind::node_ready);
    EXPECT_EQ(incidents[1].lost_steps(), 0);
    EXPECT_EQ(incidents[1].actions, std::vector<Action>{replace});
}

TEST(Incidents, WhatChangesNothingIsNone) {
    const auto incidents = incidents_of(
        {{seen(5, ObservationKind::training_started, 0), {}},
         {seen(9, ObservationKind::node_ready, 3), {}},
         {seen(11, ObservationKind::fault_detected, 4), {{.kind = ActionKind::wait}}},
         {seen(15, ObservationKind::node_ready, 4), {{.kind = ActionKind::restart}}},
         {seen(20, ObservationKind::training_started, 2), {}},
         {seen(30, ObservationKind::fault_detected, 6), {{.kind = ActionKind::diagnose}}}});
    ASSERT_EQ(incidents.size(), 2u);
    EXPECT_EQ(incidents[0].actions.size(), 2u);
    EXPECT_EQ(incidents[0].lost_steps(), 2);
    EXPECT_EQ(incidents[0].end_us, 20);
    EXPECT_EQ(incidents[1].resumed_step, -1);
}

}  // namespace
}  // namespace orrery
