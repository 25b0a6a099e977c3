// SPDX-License-Identifier: Apache-2.0
// All nodes of a suspect's domain leave with it (ByteRobust).
#pragma once

#include <algorithm>
#include <tuple>

#include "engine/faults/component.h"
#include "engine/recovery/policies/knob.h"
#include "engine/recovery/recovery_policy.h"

namespace orrery {

inline constexpr Choice<Scope> kEvictionWords[] = {
    {"rack", Scope::rack}, {"leaf", Scope::leaf}, {"pdu", Scope::pdu}, {"pod", Scope::pod}};

struct OverEviction {
    Scope scope = Scope::rack;
    ClusterShape cluster;
    bool operator==(const OverEviction&) const = default;

    static constexpr PolicyWords kWords{.name = "over_eviction",
                                        .meaning = "All nodes of the suspects' domain leave.",
                                        .does_not_cover = "a shortage of spares",
                                        .excludes = "reroute",
                                        .why_excluded = "healthy nodes would go"};
    static constexpr auto knobs() {
        return std::tuple{choice_knob<kEvictionWords, &OverEviction::scope>(
            "domain", "Domain whose nodes leave with a suspect.")};
    }

    void complete(const PolicySetting& setting) { cluster = setting.cluster; }
    void widen(const JobState& state, std::vector<NodeNumber>& nodes) const {
        std::vector<NodeNumber> wide;
        for (const NodeNumber node : nodes) {
            const NodeRange range = nodes_of(cluster, domain_of(cluster, scope, node));
            for (NodeNumber n = range.first; n < range.first + range.count; ++n) {
                if (state.slot_of_node[n] != kNoSlot) {
                    wide.push_back(n);
                }
            }
        }
        wide.insert(wide.end(), nodes.begin(), nodes.end());
        std::sort(wide.begin(), wide.end());
        wide.erase(std::unique(wide.begin(), wide.end()), wide.end());
        nodes = std::move(wide);
    }
};

}  // namespace orrery
