// SPDX-License-Identifier: Apache-2.0
#include "engine/world/step_events.h"

#include <algorithm>

namespace orrery {
namespace {

Time later(Time at, Time by) {
    return at > Time::max() - by ? Time::max() : at + by;
}

// The interval in which switches route around an outage; empty if the links return before
// `convergence`.
struct Known {
    Time first = Time::max();
    Time last = Time::max();
};

Known known(const LinkOutages& outages, const LinkOutage& outage) {
    const Time first = later(outage.at, outages.convergence);
    return outage.end > first ? Known{first, later(outage.end, outages.convergence)} : Known{};
}

template <class Is>
OutageSet set_of(const LinkOutages& outages, Is is) {
    OutageSet set = 0;
    for (std::size_t i = 0; i < outages.list.size(); ++i) {
        set |= is(outages.list[i]) ? OutageSet{1} << i : 0;
    }
    return set;
}

std::uint32_t path_at(const LinkOutages& outages,
                      const std::vector<OutageSet>& avoided,
                      const OutageWays& ways,
                      Time now) {
    const OutageSet set = avoided_at(outages, now);
    if ((set & ways.meets) == 0) {
        return kOwnPath;
    }
    const auto at = static_cast<std::size_t>(std::lower_bound(avoided.begin(), avoided.end(), set) -
                                             avoided.begin());
    return at < ways.around.size() && ways.around[at].exists ? static_cast<std::uint32_t>(at)
                                                             : kOwnPath;
}

}  // namespace

OutageSet down_at(const LinkOutages& outages, Time now) {
    return set_of(outages, [&](const LinkOutage& o) { return o.at <= now && now < o.end; });
}

OutageSet avoided_at(const LinkOutages& outages, Time now) {
    return set_of(outages, [&](const LinkOutage& o) {
        const Known times = known(outages, o);
        return times.first <= now && now < times.last;
    });
}

std::vector<OutageSet> avoided_sets(const LinkOutages& outages) {
    std::vector<OutageSet> sets;
    for (const Time time : change_times(outages)) {
        sets.push_back(avoided_at(outages, time));
    }
    std::sort(sets.begin(), sets.end());
    sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
    std::erase(sets, OutageSet{0});
    return sets;
}

std::vector<Time> change_times(const LinkOutages& outages) {
    std::vector<Time> times;
    for (const LinkOutage& outage : outages.list) {
        const Known switches = known(outages, outage);
        times.insert(times.end(), {outage.at, switches.first, switches.last});
    }
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    std::erase(times, Time::max());
    return times;
}

OutageWait wait_of(const LinkOutages& outages,
                   const std::vector<OutageSet>& avoided,
                   const OutageWays& ways,
                   Time now) {
    const auto meets = [&](std::uint32_t path) {
        return path == kOwnPath ? ways.meets : ways.around[path].meets;
    };
    const auto open = [&](Time time) {
        return (meets(path_at(outages, avoided, ways, time)) & down_at(outages, time)) == 0;
    };
    if (open(now)) {
        return {.resume = now, .path = path_at(outages, avoided, ways, now)};
    }
    const Time timer = std::max(outages.timer, Time::picoseconds(1));
    Time time = now;
    for (std::uint32_t tries = 1; tries <= outages.retries; ++tries) {
        time = later(time, timer);
        // The last retry comes at the end of the budget. It fails if the outage ends at that very
        // instant.
        const bool in_time = tries < outages.retries || open(time - Time::picoseconds(1));
        if (time < Time::max() && in_time && open(time)) {
            return {.resume = time, .path = path_at(outages, avoided, ways, time)};
        }
    }
    return {.resume = Time::max()};
}

}  // namespace orrery
