// SPDX-License-Identifier: Apache-2.0
// `network: analytic`: transfers never slow each other down. The rate of a transfer is always
// min(rate_max, min over its links l of floor(C_l / count_l)). A rate_max of zero means no cap.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/program/network_model.h"
#include "network/fluid/flow_progress.h"
#include "network/fluid/footprint_table.h"

namespace orrery {

class UncontendedRates : public SharedRates {
public:
    explicit UncontendedRates(std::span<const LinkInfo> links);

    FootprintId add_footprint(std::span<const LinkShare> footprint) override;
    // A footprint without links needs a rate_max.
    FlowId start(Time now, FootprintId footprint, Bytes bytes, Bandwidth rate_max) override;
    FlowId start_under_way(Time now,
                           FootprintId footprint,
                           Bytes bytes,
                           Bandwidth rate_max,
                           Time since) override;
    void settle(Time now) override;
    Time next_completion() const override { return progress_.next_end(); }
    // Replaces `ended`.
    void pop_completed(Time now, std::vector<FlowId>& ended) override;
    Bytes stop(Time now, FlowId flow) override;
    void set_capacity(Time now, LinkId link, Bandwidth capacity) override;
    Bandwidth rate(FlowId flow) const override { return progress_.rate(flow); }
    std::int64_t num_solves() const override { return num_solves_; }
    std::int64_t num_flows_started() const override { return num_flows_started_; }

private:
    struct Flow {
        FootprintId footprint{};
        Bandwidth rate_max;
        bool in_flight = false;
    };
    void enter(FlowId flow, FootprintId footprint, Bandwidth rate_max);
    void update_rate(Time now, FlowId flow);

    std::vector<Bandwidth> capacities_;
    FootprintTable footprints_;
    std::vector<Bandwidth> narrowest_;  // by footprint: its least floor(C_l / count_l)
    std::vector<Flow> flows_;
    FlowProgress progress_;
    std::vector<FlowId> new_flows_;
    bool capacities_changed_ = false;  // since the last settle
    std::int64_t num_solves_ = 0;
    std::int64_t num_flows_started_ = 0;
};

}  // namespace orrery
