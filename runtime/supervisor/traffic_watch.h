// SPDX-License-Identifier: Apache-2.0
// The traffic of each node of a training, which is the same in every step: when it falls far below
// what it was, something is wrong long before anything fails (MegaScale, NSDI 2024, section 4.2,
// watches its NICs so). Rates are means over some steps; the usual rate is the median of the rates
// so far, and counts from a few of them on.
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
    static constexpr std::size_t kSteps = 8;   // of a mean
    static constexpr std::size_t kMeans = 12;  // from this many on there is a usual rate
    static constexpr double kFallen = 0.33;    // of the usual rate

    // The training starts anew.
    void restart() { lanes_.clear(); }
    // A node has done a step at `now_s` and sent `bytes` in it. Words if that is a fall.
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
