// SPDX-License-Identifier: Apache-2.0
// A network whose collectives and messages inside a node take the times that were measured there
// (a profile's rows); everything else is another network's. Between two measured sizes the time
// goes along a straight line in the logarithms; below the smallest it is that of the smallest;
// beyond the largest it grows in proportion. Of group sizes likewise. Measured times hold what the
// node did at that time: other groups on the same links are not looked at again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "engine/world/forwarded_network.h"
#include "engine/world/measured_transfer.h"

namespace orrery {

// Median times of one kind, as above; empty if the kind was not measured. Rows of another type on
// the wire stand in where there are none of this one.
class TransferTimes {
public:
    explicit TransferTimes(const std::vector<MeasuredTransfer>& rows);
    std::optional<Time> time(TransferKind kind, Dtype wire, Bytes bytes, std::uint32_t ranks) const;

private:
    using Curve = std::map<std::int64_t, double>;  // seconds by bytes
    std::map<std::pair<TransferKind, Dtype>, std::map<std::uint32_t, Curve>> curves_;
};

class MeasuredNetwork final : public ForwardedNetwork {
public:
    // `base` must outlive this. `overhead`: of the host, on every operation.
    MeasuredNetwork(const NetworkModel& base,
                    std::vector<std::uint32_t> node_of_rank,
                    const std::vector<MeasuredTransfer>& rows,
                    Time overhead);

    TransferPlan plan(const TransferCall& call, std::span<const RankId> members) const override;

private:
    bool on_one_node(std::span<const RankId> ranks) const;
    std::optional<Time> time_of(const TransferCall& call, std::uint32_t ranks) const;
    TransferPlan measured(TransferPlan plan, std::optional<Time> time) const;

    std::vector<std::uint32_t> node_of_rank_;
    TransferTimes times_;
    Time overhead_;
};

}  // namespace orrery
