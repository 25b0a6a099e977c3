// SPDX-License-Identifier: Apache-2.0
// MegaScale's congestion control (Jiang et al., NSDI 2024, section 3.6): "the precise measurement
// of RTT" of Swift with "the fast congestion response" of ECN as in DCQCN. The paper gives neither
// a rule nor a number; this is our reading. The window is Swift's. In addition, at most once per
// RTT, a marked ACK reduces it by alpha/2, where alpha is DCQCN's average with one period per RTT.
// The larger of the two cuts applies. The values are Swift's, and DCTCP's gain (one period per RTT
// is DCTCP's clock). A flow starts at line rate, as on every RDMA NIC ("DCQCN has no slow start",
// Zhu et al., SIGCOMM 2015, section 3): with one packet more per RTT, a ring over 200 Gb/s and
// three tiers would need a millisecond from Swift's 12 packets to line rate.
#pragma once

#include "network/congestion/swift.h"

namespace orrery {

struct MegaScaleParameters {
    SwiftParameters delay{.window_start = 0, .window_min = 0.01};
    double gain = 1.0 / 16;
};

class MegaScale {
public:
    MegaScale(const MegaScaleParameters& parameters, const PathInfo& path);

    void on_ack(const AckSample& ack);
    void on_nack(const NackSample& nack) { delay_.on_nack(nack); }
    void on_timeout(Time now, std::int64_t bytes) { delay_.on_timeout(now, bytes); }
    void on_timer(Time) {}
    Time next_timer() const { return Time::max(); }
    std::int64_t window() const { return delay_.window(); }
    std::int64_t rate() const { return delay_.rate(); }
    double alpha() const { return alpha_; }
    double window_packets() const { return delay_.window_packets(); }

private:
    Swift delay_;
    double gain_;
    double alpha_ = 1;
    Time period_end_;
    bool marked_ = false;
};

}  // namespace orrery
