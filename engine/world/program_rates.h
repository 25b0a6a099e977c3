// SPDX-License-Identifier: Apache-2.0
// Shared rates of a network with several programs at the same time, each in an execution of its own
// (engine/world/world.h). Each program sees SharedRates with its own flows only: it starts them,
// and receives their ends. The world settles the rates and advances the time for all programs.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "engine/program/network_model.h"

namespace orrery {

class ProgramRates;

// The rates that the programs of a world share.
class CommonRates {
public:
    // `rates` must outlive this.
    explicit CommonRates(SharedRates& rates) : rates_(rates) {}
    CommonRates(const CommonRates&) = delete;
    CommonRates& operator=(const CommonRates&) = delete;

    SharedRates& rates() { return rates_; }
    // Whether flows have started or ended since the last settle(), including flows of a program
    // that has left.
    bool changed() const { return changed_; }
    // Settles the rates and gives each program its own parted flows.
    void settle(Time now);
    // Ends the flows of this instant and gives each program its own.
    void end_flows(Time now);
    // The program leaves. It must have no flows.
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
    std::vector<ProgramRates*> parted_;  // programs with parted flows in the last settle()
    std::vector<FlowId> ended_;
    // Footprints by content, so that a program that joins again, or an equal one, adds none.
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
    // Does nothing: the world settles for all programs (CommonRates::settle()).
    void settle(Time) override {}
    // Only ends at this instant; the world knows the later ends.
    Time next_completion() const override { return ended_.empty() ? Time::max() : ended_at_; }
    void pop_completed(Time now, std::vector<FlowId>& ended) override;
    Bytes stop(Time now, FlowId flow) override;
    void set_capacity(Time now, LinkId link, Bandwidth capacity) override;
    Bandwidth rate(FlowId flow) const override { return inner().rate(flow); }
    // num_solves() counts the solves of all programs together.
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
