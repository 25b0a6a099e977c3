// SPDX-License-Identifier: Apache-2.0
#include "network/congestion/megascale.h"

#include <algorithm>

namespace orrery {

MegaScale::MegaScale(const MegaScaleParameters& parameters, const PathInfo& path)
    : delay_(parameters.delay, path), gain_(parameters.gain) {}

void MegaScale::on_ack(const AckSample& ack) {
    if (ack.marked) {
        marked_ = true;
        if (ack.rtt > Time{}) {
            delay_.note_rtt(ack.rtt);
        }
        double factor = 1 - alpha_ / 2;
        const double target = delay_.target_ps(ack.hops);
        const auto rtt = static_cast<double>(ack.rtt.picoseconds());
        if (rtt > target) {
            factor = std::min(factor, target / rtt);
        }
        delay_.scale_window(ack.now, factor);
    }
    if (ack.now >= period_end_ && ack.rtt > Time{}) {
        alpha_ = (1 - gain_) * alpha_ + (marked_ ? gain_ : 0);
        marked_ = false;
        period_end_ = ack.now + ack.rtt;
    }
    if (!ack.marked) {
        delay_.on_ack(ack);
    }
}

}  // namespace orrery
