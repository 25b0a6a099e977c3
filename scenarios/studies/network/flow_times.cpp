// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/network/flow_times.h"

#include <algorithm>
#include <vector>

#include "engine/base/statistics.h"

namespace orrery {

FlowTimes summarise(Bytes size, std::span<const FlowTime> flows) {
    FlowTimes out{.size = size, .flows = flows.size()};
    std::vector<Time> times;
    std::vector<double> slowdowns;
    for (const FlowTime& flow : flows) {
        out.moved += flow.moved ? 1 : 0;
        out.stalled += flow.stalled > Time{} ? 1 : 0;
        out.stalled_max = std::max(out.stalled_max, flow.stalled);
        if (flow.finished) {
            times.push_back(flow.time);
            slowdowns.push_back(flow.unloaded > Time{} ? flow.time / flow.unloaded : 1.0);
        }
    }
    out.finished = times.size();
    if (times.empty()) {
        return out;
    }
    std::sort(times.begin(), times.end());
    std::sort(slowdowns.begin(), slowdowns.end());
    out.min = times.front();
    out.median = nearest_rank(times, 50);
    out.p99 = nearest_rank(times, 99);
    out.max = times.back();
    out.slowdown_median = nearest_rank(slowdowns, 50);
    out.slowdown_p99 = nearest_rank(slowdowns, 99);
    out.slowdown_max = slowdowns.back();
    return out;
}

}  // namespace orrery
