// SPDX-License-Identifier: Apache-2.0
// A network whose collectives and messages inside a node take measured times (a profile's rows).
// All other transfers are those of another network. Between two measured sizes the time is
// interpolated linearly in logarithms. Below the smallest size it is constant; beyond the largest
// it grows in proportion. The same holds for group sizes. A measured time includes the other
// traffic of the node during the measurement: contention between groups on the same links is not
// added again.
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

// Median times of one kind, interpolated as above. Without rows of a wire type, the rows of another
// one are used. No value if the kind was not measured.
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
    // `base` must outlive this object. `overhead` is host time added to every operation.
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
