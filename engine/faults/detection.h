// SPDX-License-Identifier: Apache-2.0
// Who notices a fault, how late, and whether they know where it is. A detector that looks every T
// sees a fault uniform in (0, T) later; a timeout sees it after the timeout; a confirmation comes
// on top. The collective timeout of the communication library is always there and sees everything
// that stops, without a place: then a diagnosis has to find it.
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
    bool node_agent = true;  // looks at each kind's inspection period (fault_kind.h)
    WallTime heartbeat = WallTime::seconds(30);  // a silent node is lost after it; 0: none
    WallTime progress_watchdog;                  // no step for so long; 0: none
    WallTime collective_timeout = WallTime::seconds(600);  // PyTorch's NCCL watchdog
    WallTime step_outlier = WallTime::seconds(300);        // window of step times; 0: none
    WallTime anomaly = WallTime::hours(12);  // mean time until wrong numbers are noticed; 0: never
    WallTime confirmation;                   // on top of each
    WallTime diagnosis;                      // tests that look for the sick node
    double localisation = 1;                 // that they find it
    double false_positive = 0;               // that they accuse a healthy one besides
    bool operator==(const DetectionSpec&) const = default;
};

struct Detection {
    Detector detector = Detector::collective_timeout;
    WallTime latency;      // WallTime::max(): never
    bool located = false;  // the place is known with it
    bool operator==(const Detection&) const = default;
};

// Which timeout sees first that no step is made, whatever the reason.
Detection hang_detection(const DetectionSpec& spec);

// `uniform` in (0, 1) belongs to the fault. A smaller period never detects it later.
Detection detect(const DetectionSpec& spec, FaultKind kind, double uniform);

// What traffic does on a link that is down for `down`. The InfiniBand retransmission timer is T =
// 4.096 us x 2^timeout, with `retries` retries (NCCL_IB_TIMEOUT, NCCL_IB_RETRY_CNT): the stall is
// the next multiple of T, and beyond T x retries the queue pair dies. Idealised: adapters use up to
// 4 T.
struct FlapOutcome {
    WallTime stall;  // until traffic flows again, or the queue pair dies
    bool dies = false;
};
FlapOutcome flap_outcome(WallTime down, std::uint32_t timeout, std::uint32_t retries);

}  // namespace orrery
