// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/traffic_watch.h"

#include <fmt/format.h>

#include <utility>

#include "engine/base/statistics.h"

namespace orrery {

std::optional<std::string> TrafficWatch::step(std::uint32_t node,
                                              std::int64_t bytes,
                                              double now_s) {
    Lane& lane = lanes_[node];
    const std::optional<double> last_s = std::exchange(lane.last_s, now_s);
    if (!last_s) {
        return {};
    }
    lane.steps.emplace_back(bytes, now_s - *last_s);
    if (lane.steps.size() < kSteps) {
        return {};
    }
    double sent = 0;
    double time = 0;
    for (const auto& [one, lasted] : lane.steps) {
        sent += static_cast<double>(one);
        time += lasted;
    }
    lane.steps.pop_front();
    if (sent <= 0 || time <= 0) {
        return {};
    }
    const double rate = sent / time;
    std::optional<std::string> words;
    if (lane.means.size() >= kMeans) {
        const double usual = median(lane.means);
        const bool fell = rate < kFallen * usual;
        if (fell && !lane.fallen) {
            words = fmt::format("the traffic of node {} has fallen to {:.0f} % of its {:.2f} MB/s",
                                node,
                                100 * rate / usual,
                                usual * 1e-6);
        }
        lane.fallen = fell;
        if (fell) {
            return words;  // a fallen rate must not become the usual one
        }
    }
    lane.means.push_back(rate);
    return words;
}

}  // namespace orrery
