// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/instance_timeline.h"

#include <algorithm>

#include "engine/base/check.h"

namespace orrery {

namespace {

double factor_at(const ServingFaults& faults, std::size_t instance, Time at) {
    double factor = 1;
    for (const InstanceSlowdown& slow : faults.slowdowns) {
        if (slow.instance == instance && slow.begin <= at && at < slow.end) {
            factor = std::max(factor, slow.factor);
        }
    }
    return factor;
}

}  // namespace

std::vector<InstanceChange> instance_timeline(const ServingFaults& faults) {
    using enum InstanceChange::Kind;
    std::vector<InstanceChange> changes;
    for (std::size_t i = 0; i < faults.outages.size(); ++i) {
        const InstanceOutage& outage = faults.outages[i];
        ORRERY_CHECK(outage.begin <= outage.noticed && outage.noticed <= outage.end);
        const auto add = [&](Time at, InstanceChange::Kind kind) {
            changes.push_back({.at = at, .instance = outage.instance, .kind = kind, .outage = i});
        };
        add(outage.begin, stop);
        add(outage.noticed, notice);
        add(outage.end, restart);
    }
    for (const InstanceSlowdown& slow : faults.slowdowns) {
        for (const Time at : {slow.begin, slow.end}) {
            if (at != Time::max()) {
                changes.push_back({.at = at,
                                   .instance = slow.instance,
                                   .kind = pace,
                                   .factor = factor_at(faults, slow.instance, at)});
            }
        }
    }
    std::stable_sort(
        changes.begin(), changes.end(), [](const InstanceChange& a, const InstanceChange& b) {
            return a.at < b.at;
        });
    return changes;
}

}  // namespace orrery
