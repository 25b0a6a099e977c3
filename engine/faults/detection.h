// SPDX-License-Identifier: Apache-2.0
// Detection of faults: the detector, its latency, and whether it locates the fault. A detector with
// period T sees a fault after a time uniform in (0, T). A timeout sees it after the timeout. A
// confirmation is added. The collective timeout of the communication library always exists: it sees
// everything that stops the job, but not the place, so that a diagnosis must find it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/base/wall_time.h"
#include "engine/faults/fault_kind.h"

namespace orrery {

enum class Detector : std::uint8_t {
    exit_code,
    node_agent,
    heartbeat,
    progress_watchdog,
    collective_timeout,
    step_outlier,
    replay,
    anomaly,
};
inline constexpr std::size_t kNumDetectors = 8;
std::string_view name(Detector detector);

struct DetectionSpec {
    bool node_agent = true;  // checks with each kind's inspection period (fault_kind.h)
    // A silent node counts as lost after this time; 0: none
    WallTime heartbeat = WallTime::seconds(30);
    WallTime progress_watchdog;                            // timeout without a step; 0: none
    WallTime collective_timeout = WallTime::seconds(600);  // PyTorch's NCCL watchdog
    WallTime step_outlier = WallTime::seconds(300);        // window of step times; 0: none
    WallTime anomaly = WallTime::hours(12);  // mean time until wrong numbers are noticed; 0: never
    WallTime confirmation;                   // added to each detection
    WallTime diagnosis;                      // duration of the tests that look for the sick node
    double localisation = 1;                 // probability that the diagnosis finds it
    double false_positive = 0;  // probability that the diagnosis also accuses a healthy node
    bool operator==(const DetectionSpec&) const = default;
};

struct Detection {
    Detector detector = Detector::collective_timeout;
    WallTime latency;      // WallTime::max(): never
    bool located = false;  // the detector also reports the place
    bool operator==(const Detection&) const = default;
};

// The first timeout after the steps stop, for any reason.
Detection hang_detection(const DetectionSpec& spec);

// `uniform` in (0, 1) is the fault's random number. A smaller period never detects the fault later.
Detection detect(const DetectionSpec& spec, FaultKind kind, double uniform);

// The effect on traffic of a link that is down for `down`. The InfiniBand retransmission timer is T
// = 4.096 us x 2^timeout, with `retries` retries (NCCL_IB_TIMEOUT, NCCL_IB_RETRY_CNT). The stall is
// the next multiple of T. Beyond T x retries the queue pair dies. This is idealised: adapters use
// up to 4 T.
struct FlapOutcome {
    WallTime stall;  // until traffic flows again, or the queue pair dies
    bool dies = false;
};
FlapOutcome flap_outcome(WallTime down, std::uint32_t timeout, std::uint32_t retries);

}  // namespace orrery
