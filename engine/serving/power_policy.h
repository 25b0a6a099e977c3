// SPDX-License-Identifier: Apache-2.0
// Which clocks the GPUs of a row may have while the row's power is near its limit: a policy object
// without time of its own (Patel et al., POLCA, ASPLOS 2024).
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "engine/base/units.h"

namespace orrery {

// Clocks of work of low and of high priority, as shares of the highest one.
struct ClockCaps {
    double low = 1;
    double high = 1;
    bool operator==(const ClockCaps&) const = default;
};

class PowerPolicy {
public:
    virtual ~PowerPolicy() = default;
    // `share`: the row's power over its limit, since the last question. `present`: what was decided
    // last.
    virtual ClockCaps caps(double share, const ClockCaps& present) const = 0;
};

// The names of the policies:
//   none   the highest clock
//   all    what stays below the limit, for all alike, as a limit of each server does
//   polca  above 80 % of the limit low priority goes down to 1,275 of 1,410 MHz; above 89 % to
//          1,110, and high priority to 1,305. Clocks go up again 5 % of the limit below the
//          threshold that brought them down (assumed).
std::vector<std::string_view> power_policy_names();
// Null if there is none of that name, and for `none`.
std::unique_ptr<PowerPolicy> make_power_policy(std::string_view name);

// The row of a run. Times are those of POLCA's production row.
struct RowPower {
    const PowerPolicy* policy = nullptr;
    double limit_watts = 0;
    Time telemetry = Time::seconds(2);  // between questions
    Time capping = Time::seconds(40);   // until a new clock is set
    // The hardware's brake, which comes where the limit is exceeded: until the row is below it.
    Time brake = Time::seconds(5);
    double brake_clock = 288.0 / 1410;
    std::size_t first_low = 0;  // instances from here on serve work of low priority
    // Power of a GPU, with its share of the server.
    double idle_watts = 0;
    double busy_watts = 0;  // while all it does is bound by computation
    // While it is bound by memory: of busy - idle this share. An H200 draws 380 W in products of 64
    // rows and 691 W in products of 8,192, of 700 (AIConfigurator's kernel tables).
    double memory_share = 0.5;
};

// What a row did.
struct RowTotals {
    double joules = 0;
    double peak_watts = 0;     // of an interval of telemetry
    std::int64_t capped = 0;   // times that clocks went down
    std::int64_t brakes = 0;
};

// Power of a GPU whose steps are bound by computation for this share of their time: the power of
// computation goes with the clock as clock_under_limit() (kernels/efficiency.h) says.
double busy_watts(const RowPower& row, double computation, double clock);

}  // namespace orrery
