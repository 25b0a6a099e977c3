// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/network/collective_flows.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace orrery {
namespace {

constexpr std::size_t kTracksMax = 1'024;
constexpr std::size_t kWaitsShown = 8;

}  // namespace

std::vector<FlowEnd> CollectiveFlows::run_parts(FlowRunner& runner,
                                                const std::vector<TransferPart>& parts,
                                                const std::vector<Time>& starts) {
    std::vector<RunnerFlow> flows;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        flows.push_back(
            {.start = starts[i], .bytes = parts[i].bytes, .rate_max = parts[i].rate_max});
    }
    return runner.run(flows, [&](std::size_t i, const LinkState&, FlowPath& path) {
        path.footprint = parts[i].footprint;
        return true;
    });
}

std::vector<FlowEnd> CollectiveFlows::run_channels(FlowRunner& runner,
                                                   const ChannelsOf& channels,
                                                   const std::vector<Time>& starts) {
    std::vector<NcclNetwork::Channel> now = channels({});
    ORRERY_CHECK(now.size() == starts.size());
    std::vector<std::uint8_t> known;  // down links that the switches know at the time of routing
    std::vector<RunnerFlow> flows;
    for (std::size_t i = 0; i < now.size(); ++i) {
        flows.push_back(
            {.start = starts[i], .bytes = now[i].part.bytes, .rate_max = now[i].part.rate_max});
    }
    return runner.run(flows, [&](std::size_t i, const LinkState& state, FlowPath& path) {
        // All connections are routed at one time: one load serves for them.
        if (!std::equal(known.begin(), known.end(), state.down.begin(), state.down.end())) {
            known.assign(state.down.begin(), state.down.end());
            now = channels(state);
        }
        path.footprint = now[i].part.footprint;
        return !now[i].broken;
    });
}

std::vector<FlowEnd> CollectiveFlows::run_collective(FlowRunner& runner,
                                                     const CollectiveCall& call,
                                                     NetworkRow& row) {
    const TransferPlan plan = network_.plan(call, members_);
    row.algorithm = plan.algorithm;
    row.protocol = plan.protocol;
    row.channels = plan.channels;
    if (const auto estimate = network_.estimate(call, members_)) {
        row.nccl_us = estimate->time_us;
    }
    ORRERY_CHECK(plan.phases.size() == 1);
    const TransferPhase& phase = plan.phases[0];
    const Time start = runner.now() + phase.latency;
    const auto channels = [&](const LinkState& state) {
        return network_.channels_of(call, members_, state);
    };
    const std::size_t flows = links_change_ ? channels({}).size() : phase.parts.size();
    names_.clear();
    for (std::size_t i = 0; i < flows; ++i) {
        names_.push_back(fmt::format("{} channel {}", plan.algorithm, i));
    }
    const std::vector<Time> starts(flows, start);
    return links_change_ ? run_channels(runner, channels, starts)
                         : run_parts(runner, phase.parts, starts);
}

SendCall CollectiveFlows::message(Bytes size) const {
    return {.bytes = size, .ranks = static_cast<std::uint32_t>(members_.size())};
}

std::vector<NcclNetwork::Channel> CollectiveFlows::channels_of_messages(
    Bytes size, const LinkState& state) const {
    std::vector<NcclNetwork::Channel> all;
    for (std::size_t r = 0; r < members_.size(); ++r) {
        for (auto& channel : network_.channels_of(message(size), to_next(r), state)) {
            all.push_back(std::move(channel));
        }
    }
    return all;
}

std::vector<FlowEnd> CollectiveFlows::run_messages(FlowRunner& runner,
                                                   Bytes size,
                                                   NetworkRow& row) {
    std::vector<TransferPart> parts;
    std::vector<Time> starts;
    names_.clear();
    for (std::size_t r = 0; r < members_.size(); ++r) {
        const TransferPlan plan = network_.plan(message(size), to_next(r));
        ORRERY_CHECK(plan.phases.size() == 1);
        const std::size_t flows = links_change_
                                      ? network_.channels_of(message(size), to_next(r), {}).size()
                                      : plan.phases[0].parts.size();
        parts.insert(parts.end(), plan.phases[0].parts.begin(), plan.phases[0].parts.end());
        starts.insert(starts.end(), flows, plan.phases[0].latency);
        names_.insert(names_.end(),
                      flows,
                      fmt::format("rank {} -> rank {}", index(members_[r]), index(next(r))));
        row.algorithm = plan.algorithm;
        row.protocol = plan.protocol;
        row.channels = std::max(row.channels, plan.channels);
    }
    if (!links_change_) {
        return run_parts(runner, parts, starts);
    }
    return run_channels(
        runner, [&](const LinkState& state) { return channels_of_messages(size, state); }, starts);
}

void CollectiveFlows::draw(const FlowRunner& runner, NetworkTrace& trace) const {
    const std::size_t tracks = std::min(names_.size(), kTracksMax);
    const std::size_t first = trace.tracks.size();
    for (std::size_t i = 0; i < tracks; ++i) {
        trace.tracks.push_back({.name = names_[i], .slices = {}});
    }
    for (const RateSpan& span : runner.spans()) {
        if (span.flow >= tracks) {
            continue;
        }
        const bool stalled = span.rate == Bandwidth{};
        trace.tracks[first + span.flow].slices.push_back(
            {.name =
                 stalled ? "stalled" : fmt::format("{:.4g} GB/s", span.rate.gigabytes_per_second()),
             .begin = span.begin,
             .end = span.end});
    }
}

std::vector<std::string> wait_notes(const Fabric& fabric,
                                    std::span<const std::string> names,
                                    std::span<const FlowEnd> ends) {
    ORRERY_CHECK(names.size() == ends.size());
    std::vector<std::string> notes;
    std::size_t waiting = 0;
    for (std::size_t i = 0; i < ends.size(); ++i) {
        if (ends[i].finished || ++waiting > kWaitsShown) {
            continue;
        }
        notes.push_back(
            ends[i].waited_for
                ? fmt::format("{} waits for '{}', which is down",
                              names[i],
                              fabric.link_name(*ends[i].waited_for))
                : fmt::format("{} waits: the links that are up lead it nowhere", names[i]));
    }
    if (waiting > kWaitsShown) {
        notes.push_back(fmt::format("and {} more wait", waiting - kWaitsShown));
    }
    return notes;
}

}  // namespace orrery
