// SPDX-License-Identifier: Apache-2.0
// A network that answers what the test wrote down.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/program/network_model.h"

namespace orrery {

class ScriptedNetwork final : public NetworkModel {
public:
    explicit ScriptedNetwork(std::vector<std::int64_t> capacities_bps) {
        for (const std::int64_t bps : capacities_bps) {
            link_table.push_back({Bandwidth::bits_per_second(bps), 0});
        }
    }

    TransferPlan plan(const TransferCall& call, std::span<const RankId> members) const override {
        if (std::holds_alternative<CollectiveCall>(call)) {
            return collective;
        }
        TransferPlan plan = std::holds_alternative<CopyCall>(call)
                                ? copies.at(members[0])
                                : sends.at({members[0], members[1]});
        plan.phases.at(0).parts.at(0).bytes = bytes_of(call);
        return plan;
    }
    std::span<const LinkInfo> links() const override { return link_table; }
    std::span<const std::string> link_class_names() const override { return class_names; }
    bool has_contention() const override { return contention; }

    TransferPlan collective;
    std::map<std::pair<RankId, RankId>, TransferPlan> sends;
    std::map<RankId, TransferPlan> copies;
    std::vector<LinkInfo> link_table;
    std::vector<std::string> class_names{"link"};
    bool contention = true;
};

// One part over some links, after a latency.
inline TransferPhase phase_over(const std::vector<std::uint32_t>& links,
                                Bytes bytes,
                                Time latency = {}) {
    TransferPart part;
    for (const std::uint32_t link : links) {
        part.footprint.push_back({to_id<LinkId>(link), 1});
    }
    part.bytes = bytes;
    return {latency, {part}};
}

inline TransferPlan plan_over(const std::vector<std::uint32_t>& links,
                              Bytes bytes,
                              Time latency = {},
                              std::uint32_t sms = 0) {
    TransferPlan plan;
    plan.phases = {phase_over(links, bytes, latency)};
    plan.sms = sms;
    return plan;
}

}  // namespace orrery
