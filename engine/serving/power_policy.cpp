// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/power_policy.h"

#include <algorithm>

#include "engine/world/power_clock.h"

namespace orrery {

namespace {

constexpr double kFirstThreshold = 0.80;
constexpr double kSecondThreshold = 0.89;
constexpr double kBack = 0.05;
constexpr double kHighest_MHz = 1410;
constexpr double kLow_MHz = 1275;
constexpr double kLowest_MHz = 1110;
constexpr double kHigh_MHz = 1305;

class Polca : public PowerPolicy {
public:
    ClockCaps caps(double share, const ClockCaps& present) const override {
        const auto above = [&](double threshold, bool is_capped) {
            return share > threshold - (is_capped ? kBack : 0);
        };
        if (above(kSecondThreshold, present.high < 1)) {
            return {.low = kLowest_MHz / kHighest_MHz, .high = kHigh_MHz / kHighest_MHz};
        }
        return {.low = above(kFirstThreshold, present.low < 1) ? kLow_MHz / kHighest_MHz : 1};
    }
};

// Changes the clocks in proportion to the distance from the limit.
class CapsAll : public PowerPolicy {
public:
    ClockCaps caps(double share, const ClockCaps& present) const override {
        const double clock = std::min(1.0, present.low * clock_at_power(1 / std::max(share, 0.1)));
        return {.low = clock, .high = clock};
    }
};

}  // namespace

std::vector<std::string_view> power_policy_names() {
    return {"none", "all", "polca"};
}

std::unique_ptr<PowerPolicy> make_power_policy(std::string_view name) {
    if (name == "polca") {
        return std::make_unique<Polca>();
    }
    return name == "all" ? std::make_unique<CapsAll>() : nullptr;
}

double busy_watts(const RowPower& row, double computation, double clock) {
    const double active =
        row.memory_share + (1 - row.memory_share) * computation * power_at_clock(clock);
    return row.idle_watts + (row.busy_watts - row.idle_watts) * active;
}

}  // namespace orrery
