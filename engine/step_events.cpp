// SPDX-License-Identifier: Apache-2.0
#include "engine/step_events.h"

#include <algorithm>

namespace orrery {
namespace {

Time later(Time at, Time by) {
    return at > Time::max() - by ? Time::max() : at + by;
}

}  // namespace

OutageWait wait_of(const LinkOutage& outage, Time now, bool has_other_path) {
    const Time moved = later(outage.at, outage.convergence);
    const Time back = has_other_path ? later(outage.end, outage.convergence) : outage.end;
    const bool before = now < outage.at;
    if (before || now >= back) {
        return {.resume = now};
    }
    if (has_other_path && now >= moved) {
        return {.resume = now, .around = true};
    }
    const Time open = has_other_path ? std::min(moved, outage.end) : outage.end;
    if (now >= open) {
        return {.resume = now};
    }
    if (open == Time::max()) {
        return {.resume = Time::max()};
    }
    const std::int64_t timer = std::max<std::int64_t>(1, outage.timer.picoseconds());
    const std::int64_t wait = (open - now).picoseconds();
    if (wait / timer >= outage.retries) {
        return {.resume = Time::max()};
    }
    const std::int64_t tries = (wait + timer - 1) / timer;
    const Time resume = now + Time::picoseconds(timer * tries);
    return {.resume = resume, .around = has_other_path && resume >= moved && resume < back};
}

}  // namespace orrery
