// SPDX-License-Identifier: Apache-2.0
#include "network/measured_network.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace orrery {
namespace {

// y at x on the straight line through two points in logarithms.
double between(double x0, double y0, double x1, double y1, double x) {
    const double share = std::log(x / x0) / std::log(x1 / x0);
    return std::exp(std::log(y0) + share * (std::log(y1) - std::log(y0)));
}

double at_size(const std::map<std::int64_t, double>& curve, std::int64_t bytes) {
    const auto above = curve.lower_bound(bytes);
    if (above == curve.end()) {
        const auto [most, seconds] = *curve.rbegin();
        return seconds * static_cast<double>(bytes) /
               static_cast<double>(std::max<std::int64_t>(most, 1));
    }
    if (above->first == bytes || above == curve.begin()) {
        return above->second;
    }
    const auto below = std::prev(above);
    return between(static_cast<double>(std::max<std::int64_t>(below->first, 1)),
                   below->second,
                   static_cast<double>(above->first),
                   above->second,
                   static_cast<double>(bytes));
}

}  // namespace

TransferTimes::TransferTimes(const std::vector<MeasuredTransfer>& rows) {
    for (const MeasuredTransfer& row : rows) {
        curves_[{row.kind, row.wire}][row.ranks][row.bytes.count()] = row.median.seconds();
    }
}

std::optional<Time> TransferTimes::time(TransferKind kind,
                                        Dtype wire,
                                        Bytes bytes,
                                        std::uint32_t ranks) const {
    auto found = curves_.find({kind, wire});
    if (found == curves_.end()) {
        found = curves_.lower_bound({kind, Dtype{}});
        if (found == curves_.end() || found->first.first != kind) {
            return std::nullopt;
        }
    }
    const auto& by_ranks = found->second;
    const auto above = by_ranks.lower_bound(ranks);
    if (above == by_ranks.end()) {
        return Time::seconds(at_size(by_ranks.rbegin()->second, bytes.count()));
    }
    const double upper = at_size(above->second, bytes.count());
    if (above->first == ranks || above == by_ranks.begin()) {
        return Time::seconds(upper);
    }
    const auto below = std::prev(above);
    return Time::seconds(
        between(below->first, at_size(below->second, bytes.count()), above->first, upper, ranks));
}

MeasuredNetwork::MeasuredNetwork(const NetworkModel& base,
                                 std::vector<std::uint32_t> node_of_rank,
                                 const std::vector<MeasuredTransfer>& rows,
                                 Time overhead)
    : ForwardedNetwork(base),
      node_of_rank_(std::move(node_of_rank)),
      times_(rows),
      overhead_(overhead) {}

bool MeasuredNetwork::on_one_node(std::span<const RankId> ranks) const {
    return std::ranges::all_of(ranks, [&](RankId rank) {
        return node_of_rank_[index(rank)] == node_of_rank_[index(ranks.front())];
    });
}

// The base network's plan with the measured time as its only latency.
TransferPlan MeasuredNetwork::measured(TransferPlan plan, std::optional<Time> time) const {
    if (time) {
        plan.phases = {{.latency = *time, .parts = {}}};
        plan.algorithm = "measured";
        plan.protocol = "";
        plan.channels = 0;
    }
    if (!plan.phases.empty()) {
        plan.phases.front().latency += overhead_;
    }
    return plan;
}

// Messages of all dtypes take the same time.
std::optional<Time> MeasuredNetwork::time_of(const TransferCall& call, std::uint32_t ranks) const {
    if (const auto* collective = std::get_if<CollectiveCall>(&call)) {
        return times_.time(
            transfer_kind(collective->kind), collective->wire, collective->bytes, ranks);
    }
    return times_.time(TransferKind::send_recv, Dtype::fp32, bytes_of(call), ranks);
}

TransferPlan MeasuredNetwork::plan(const TransferCall& call,
                                   std::span<const RankId> members) const {
    TransferPlan plan = network_.plan(call, members);
    if (members.size() < 2) {
        return plan;  // a copy, which has no measured time, or a group of one
    }
    const auto ranks = static_cast<std::uint32_t>(members.size());
    return measured(std::move(plan), on_one_node(members) ? time_of(call, ranks) : std::nullopt);
}

}  // namespace orrery
