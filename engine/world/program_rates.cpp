// SPDX-License-Identifier: Apache-2.0
#include "engine/world/program_rates.h"

#include <algorithm>
#include <tuple>

namespace orrery {

bool CommonRates::SharesLess::operator()(const std::vector<LinkShare>& a,
                                         const std::vector<LinkShare>& b) const {
    return std::ranges::lexicographical_compare(a, b, [](const LinkShare& x, const LinkShare& y) {
        return std::tie(x.link, x.count) < std::tie(y.link, y.count);
    });
}

void CommonRates::own(FlowId flow, ProgramRates* program) {
    if (index(flow) >= owners_.size()) {
        owners_.resize(index(flow) + 1, nullptr);
    }
    owners_[index(flow)] = program;
}

void CommonRates::settle(Time now) {
    for (ProgramRates* program : parted_) {
        program->parted_.clear();
    }
    parted_.clear();
    rates_.settle(now);
    changed_ = false;
    for (const PartedFlow& parted : rates_.parted()) {
        ProgramRates* program = owners_[index(parted.whole)];
        if (program->parted_.empty()) {
            parted_.push_back(program);
        }
        program->parted_.push_back(parted);
    }
    // New flows may have reused the ids of joined flows.
    for (ProgramRates* program : parted_) {
        for (const PartedFlow& parted : program->parted_) {
            own(parted.flow, program);
        }
    }
}

void CommonRates::end_flows(Time now) {
    ended_.clear();
    rates_.pop_completed(now, ended_);
    changed_ = true;
    for (const FlowId flow : ended_) {
        ProgramRates& program = *owners_[index(flow)];
        program.ended_at_ = now;
        program.ended_.push_back(flow);
    }
}

void CommonRates::forget(const ProgramRates& program) {
    std::erase(parted_, &program);
    std::ranges::replace(owners_, &program, nullptr);
}

FootprintId ProgramRates::add_footprint(std::span<const LinkShare> footprint) {
    const auto [known, added] =
        common_.footprints_.try_emplace({footprint.begin(), footprint.end()}, FootprintId{});
    if (added) {
        known->second = inner().add_footprint(footprint);
    }
    return known->second;
}

std::optional<FootprintId> ProgramRates::join_footprints(std::span<const FootprintId> parts) {
    const auto [known, added] =
        common_.joined_footprints_.try_emplace({parts.begin(), parts.end()}, std::nullopt);
    if (added) {
        known->second = inner().join_footprints(parts);
    }
    return known->second;
}

std::optional<FootprintId> ProgramRates::join_flows(std::span<const FootprintId> flows) {
    const auto [known, added] =
        common_.joined_flows_.try_emplace({flows.begin(), flows.end()}, std::nullopt);
    if (added) {
        known->second = inner().join_flows(flows);
    }
    return known->second;
}

FlowId ProgramRates::own(FlowId flow) {
    common_.own(flow, this);
    common_.changed_ = true;
    ++num_started_;
    return flow;
}

FlowId ProgramRates::start(Time now, FootprintId footprint, Bytes bytes, Bandwidth rate_max) {
    return own(inner().start(now, footprint, bytes, rate_max));
}

FlowId ProgramRates::start_under_way(
    Time now, FootprintId footprint, Bytes bytes, Bandwidth rate_max, Time since) {
    return own(inner().start_under_way(now, footprint, bytes, rate_max, since));
}

Bytes ProgramRates::stop(Time now, FlowId flow) {
    common_.changed_ = true;
    return inner().stop(now, flow);
}

void ProgramRates::set_capacity(Time now, LinkId link, Bandwidth capacity) {
    common_.changed_ = true;
    inner().set_capacity(now, link, capacity);
}

void ProgramRates::pop_completed(Time, std::vector<FlowId>& ended) {
    ended.insert(ended.end(), ended_.begin(), ended_.end());
    ended_.clear();
}

}  // namespace orrery
