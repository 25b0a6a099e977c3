// SPDX-License-Identifier: Apache-2.0
// Watches the traffic of each node of a training, which is equal in every step. If it falls far
// below its usual rate, something is wrong long before a failure (MegaScale, NSDI 2024, section
// 4.2, watches NICs in this way). Rates are means over some steps. The usual rate is the median of
// the rates so far, once there are enough.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace orrery {

class TrafficWatch {
public:
    static constexpr std::size_t kSteps = 8;   // steps of a mean
    static constexpr std::size_t kMeans = 12;  // number of means before there is a usual rate
    static constexpr double kFallen = 0.33;    // fraction of the usual rate that counts as a fall

    // The training starts again.
    void restart() { lanes_.clear(); }
    // A node finished a step at `now_s` and sent `bytes` in it. Returns a warning if the rate has
    // fallen.
    std::optional<std::string> step(std::uint32_t node, std::int64_t bytes, double now_s);

private:
    struct Lane {
        std::optional<double> last_s;
        std::deque<std::pair<std::int64_t, double>> steps;
        std::vector<double> means;
        bool fallen = false;
    };
    std::map<std::uint32_t, Lane> lanes_;
};

}  // namespace orrery
