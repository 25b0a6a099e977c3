// SPDX-License-Identifier: Apache-2.0
#include "engine/faults/detection.h"

#include <gtest/gtest.h>

namespace orrery {
namespace detection_test {

constexpr WallTime s(double seconds) {
    return WallTime::seconds(seconds);
}

TEST(Detection, EachSymptomHasItsDetector) {
    const DetectionSpec spec;
    EXPECT_EQ(detect(spec, FaultKind::software_bug, 0.5),
              (Detection{Detector::exit_code, WallTime{}, true}));
    EXPECT_EQ(detect(spec, FaultKind::gpu_lost, 0.5),
              (Detection{Detector::node_agent, s(5), true}));
    EXPECT_EQ(detect(spec, FaultKind::power_loss, 0.5),
              (Detection{Detector::heartbeat, s(30), true}));
    EXPECT_EQ(detect(spec, FaultKind::gpu_hang, 0.5),
              (Detection{Detector::collective_timeout, s(600), false}));
    EXPECT_EQ(detect(spec, FaultKind::slow_host, 0.5),
              (Detection{Detector::step_outlier, s(150), true}));
    EXPECT_EQ(detect(spec, FaultKind::silent_corruption, 0.5).detector, Detector::anomaly);
}

TEST(Detection, WithoutItsDetectorTheCollectiveTimeoutSeesWhatStops) {
    DetectionSpec spec;
    spec.node_agent = false;
    spec.heartbeat = WallTime{};
    for (const FaultKind kind : {FaultKind::gpu_lost, FaultKind::node_crash}) {
        EXPECT_EQ(detect(spec, kind, 0.5),
                  (Detection{Detector::collective_timeout, s(600), false}));
    }
    spec.step_outlier = WallTime{};
    spec.anomaly = WallTime{};
    EXPECT_EQ(detect(spec, FaultKind::slow_host, 0.5).latency, WallTime::max());
    EXPECT_EQ(detect(spec, FaultKind::silent_corruption, 0.5).latency, WallTime::max());
}

TEST(Detection, AWatchdogOfProgressIsEarlierThanTheTimeout) {
    DetectionSpec spec;
    spec.progress_watchdog = s(18);
    spec.confirmation = s(2);
    EXPECT_EQ(detect(spec, FaultKind::gpu_hang, 0.5),
              (Detection{Detector::progress_watchdog, s(20), false}));
}

TEST(Detection, AShorterPeriodIsNeverLater) {
    for (const FaultKindInfo& kind : fault_kinds()) {
        for (const double u : {0.001, 0.3, 0.999}) {
            DetectionSpec slow;
            DetectionSpec fast;
            fast.heartbeat = s(5);
            fast.collective_timeout = s(60);
            fast.step_outlier = s(60);
            fast.anomaly = WallTime::hours(1);
            EXPECT_LE(detect(fast, kind.kind, u).latency, detect(slow, kind.kind, u).latency)
                << kind.name;
        }
    }
}

// V11 of the reference cases: T = 4.096 us x 2^t, budget 7 T.
TEST(Flap, StallsUntilTheNextRetransmissionOrDiesAtTheBudget) {
    struct Case {
        std::uint32_t timeout;
        double down;
        double stall;
        bool dies;
    };
    for (const Case& c : {Case{14, 0.3, 0.335544, false},
                          Case{14, 3, 0.469762, true},
                          Case{18, 0.3, 1.073742, false},
                          Case{18, 3, 3.221225, false},
                          Case{14, 10, 0.469762, true},
                          Case{14, 60, 0.469762, true},
                          Case{18, 10, 7.516193, true},
                          Case{18, 60, 7.516193, true},
                          Case{20, 0.3, 4.294967, false},
                          Case{20, 3, 4.294967, false},
                          Case{20, 10, 12.884902, false},
                          Case{20, 60, 30.064771, true},
                          Case{22, 0.3, 17.179869, false},
                          Case{22, 3, 17.179869, false},
                          Case{22, 10, 17.179869, false},
                          Case{22, 60, 68.719477, false}}) {
        const FlapOutcome outcome = flap_outcome(s(c.down), c.timeout, 7);
        EXPECT_EQ(outcome.dies, c.dies) << c.timeout << " " << c.down;
        EXPECT_NEAR(outcome.stall.seconds(), c.stall, 1.5e-6) << c.timeout << " " << c.down;
    }
}

}  // namespace detection_test
}  // namespace orrery
