// SPDX-License-Identifier: Apache-2.0
// SharedRates in the plainest way: every settle computes every rate anew. Judges and feeds the
// executor without the network room.
#pragma once

#include <map>
#include <vector>

#include "engine/program/network_model.h"

namespace orrery {

class NaiveRates final : public SharedRates {
public:
    explicit NaiveRates(std::span<const LinkInfo> links) : links_(links.begin(), links.end()) {}

    FootprintId add_footprint(std::span<const LinkShare> footprint) override;
    FlowId start(Time now, FootprintId footprint, Bytes bytes, Bandwidth rate_max) override;
    FlowId start_under_way(Time now,
                           FootprintId footprint,
                           Bytes bytes,
                           Bandwidth rate_max,
                           Time since) override;
    void settle(Time now) override;
    Time next_completion() const override;
    void pop_completed(Time now, std::vector<FlowId>& ended) override;
    Bytes stop(Time now, FlowId flow) override;
    void set_capacity(Time now, LinkId link, Bandwidth capacity) override;
    Bandwidth rate(FlowId flow) const override;
    std::int64_t num_solves() const override { return num_solves_; }
    std::int64_t num_flows_started() const override { return num_flows_; }

private:
    struct Flow {
        FootprintId footprint{};
        Bandwidth rate_max{};
        __int128 left = 0;  // bit * ps
        std::int64_t rate = 0;
    };
    void advance(Time now);

    std::vector<LinkInfo> links_;
    std::vector<std::vector<LinkShare>> footprints_;
    std::map<FlowId, Flow> flows_;
    Time now_;
    std::int64_t num_solves_ = 0;
    std::int64_t num_flows_ = 0;
};

}  // namespace orrery
