// SPDX-License-Identifier: Apache-2.0
// The rates of a network on which several programs run at the same time, each in an execution of
// its own (engine/world/world.h). Every program sees SharedRates of its own flows only: it starts
// them, and is given the ends of its own. The world settles the rates and moves the time on, for
// all.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "engine/program/network_model.h"

namespace orrery {

class ProgramRates;

// What the programs of a world share.
class CommonRates {
public:
    // `rates` must outlive this.
    explicit CommonRates(SharedRates& rates) : rates_(rates) {}
    CommonRates(const CommonRates&) = delete;
    CommonRates& operator=(const CommonRates&) = delete;

    SharedRates& rates() { return rates_; }
    // Have flows started or ended, perhaps of a program that has left, since the last settle()?
    bool changed() const { return changed_; }
    // Settles the rates; each program finds its own parted flows.
    void settle(Time now);
    // Ends the flows of this instant; each program finds its own.
    void end_flows(Time now);
    // The program leaves; it has no flows.
    void forget(const ProgramRates& program);

private:
    friend class ProgramRates;

    struct SharesLess {
        bool operator()(const std::vector<LinkShare>& a, const std::vector<LinkShare>& b) const;
    };
    using Joined = std::map<std::vector<FootprintId>, std::optional<FootprintId>>;

    void own(FlowId flow, ProgramRates* program);

    SharedRates& rates_;
    bool changed_ = false;
    std::vector<ProgramRates*> owners_;  // by FlowId
    std::vector<ProgramRates*> parted_;  // programs that have some, of the last settle()
    std::vector<FlowId> ended_;
    // A program that joins again, or one like it, adds nothing.
    std::map<std::vector<LinkShare>, FootprintId, SharesLess> footprints_;
    Joined joined_footprints_;
    Joined joined_flows_;
};

class ProgramRates final : public SharedRates {
public:
    explicit ProgramRates(CommonRates& common) : common_(common) {}

    bool any_ended() const { return !ended_.empty(); }

    FootprintId add_footprint(std::span<const LinkShare> footprint) override;
    std::optional<FootprintId> join_footprints(std::span<const FootprintId> parts) override;
    std::optional<FootprintId> join_flows(std::span<const FootprintId> flows) override;
    std::span<const PartedFlow> parted() const override { return parted_; }
    FlowId start(Time now, FootprintId footprint, Bytes bytes, Bandwidth rate_max) override;
    FlowId start_under_way(
        Time now, FootprintId footprint, Bytes bytes, Bandwidth rate_max, Time since) override;
    // The world does, for all programs: CommonRates::settle().
    void settle(Time) override {}
    // The end of flows at this instant; the world has the later ends.
    Time next_completion() const override { return ended_.empty() ? Time::max() : ended_at_; }
    void pop_completed(Time now, std::vector<FlowId>& ended) override;
    Bytes stop(Time now, FlowId flow) override;
    void set_capacity(Time now, LinkId link, Bandwidth capacity) override;
    Bandwidth rate(FlowId flow) const override { return inner().rate(flow); }
    // Counts of all programs together.
    std::int64_t num_solves() const override { return inner().num_solves(); }
    std::int64_t num_flows_started() const override { return num_started_; }

private:
    friend class CommonRates;

    SharedRates& inner() const { return common_.rates_; }
    FlowId own(FlowId flow);

    CommonRates& common_;
    Time ended_at_{};
    std::vector<FlowId> ended_;
    std::vector<PartedFlow> parted_;
    std::int64_t num_started_ = 0;
};

}  // namespace orrery
