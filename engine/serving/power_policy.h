// SPDX-License-Identifier: Apache-2.0
// The clocks of a row of GPUs near its power limit: a policy that does not advance time itself
// (Patel et al., POLCA, ASPLOS 2024).
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "engine/base/units.h"

namespace orrery {

// Clocks for work of low and of high priority, as fractions of the highest clock.
struct ClockCaps {
    double low = 1;
    double high = 1;
    bool operator==(const ClockCaps&) const = default;
};

class PowerPolicy {
public:
    virtual ~PowerPolicy() = default;
    // `share`: the row's power since the last call / its limit. `present`: the last decision.
    virtual ClockCaps caps(double share, const ClockCaps& present) const = 0;
};

// The names of the policies:
//   none   the highest clock
//   all    equal clocks that keep the row below the limit, like a limit per server
//   polca  above 80 % of the limit, low priority gets 1,275 of 1,410 MHz; above 89 % it gets 1,110
//          and high priority 1,305. A cap is lifted 5 % of the limit below its threshold (assumed).
std::vector<std::string_view> power_policy_names();
// Null for an unknown name, and for `none`.
std::unique_ptr<PowerPolicy> make_power_policy(std::string_view name);

// The row of a run. The default times are those of POLCA's production row.
struct RowPower {
    const PowerPolicy* policy = nullptr;
    double limit_watts = 0;
    Time telemetry = Time::seconds(2);  // between decisions
    Time capping = Time::seconds(40);   // until a new clock is set
    // The hardware's brake above the limit: its delay, and the clock that it sets until the row is
    // below the limit.
    Time brake = Time::seconds(5);
    double brake_clock = 288.0 / 1410;
    std::size_t first_low = 0;  // this instance and all later ones serve work of low priority
    // Power of a GPU, including its share of the server.
    double idle_watts = 0;
    double busy_watts = 0;  // while computation bounds its work
    // Share of busy - idle that it draws while memory bounds its work. An H200 of 700 W draws 380 W
    // in products of 64 rows and 691 W in products of 8,192 rows (AIConfigurator's kernel tables).
    double memory_share = 0.5;
};

// Results of a row.
struct RowTotals {
    double joules = 0;
    double peak_watts = 0;    // the highest mean over an interval of telemetry
    std::int64_t capped = 0;  // number of reductions of the clocks
    std::int64_t brakes = 0;
};

// Power of a GPU whose steps are bound by computation for the fraction `computation` of their time.
// That part changes with the clock as in clock_under_limit() (kernels/efficiency.h).
double busy_watts(const RowPower& row, double computation, double clock);

}  // namespace orrery
