// SPDX-License-Identifier: Apache-2.0
// What transfers take on an idle network, for plans that lay their ranks out on one mesh: asked
// once for all plans. Only where the transfers of all groups of a kind take the same; whether they
// do is found out once for each way that the network runs them, by comparing what each loads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "engine/folded_step.h"
#include "engine/network_model.h"

namespace orrery {

class StagePrices {
public:
    // `network` must outlive the prices.
    StagePrices(const NetworkModel& network, const Mesh& mesh) : network_(network), mesh_(mesh) {}

    // Of every group that spans these axes (and of the coordinates `subset` along `subset_axis`, if
    // not empty); nothing if they differ.
    std::optional<FixedTransfer> collective(const CollectiveCall& call, const Group& group);
    // From each rank to the one `delta` further along `axis`, of those whose coordinate there is
    // `from`, or of all (-1); nothing if they differ.
    std::optional<FixedTransfer> send(std::uint32_t axis, int delta, Bytes bytes, int from);

private:
    // Axes, subset, kind, communicator, wire, limit of SMs.
    using Kind = std::tuple<std::uint32_t,
                            std::vector<std::uint32_t>,
                            CollectiveKind,
                            std::uint16_t,
                            Dtype,
                            std::uint16_t>;
    using CallKey = std::pair<Kind, std::int64_t>;
    // Algorithm, protocol, channels.
    using Way = std::tuple<Kind, std::string, std::string, std::uint32_t>;

    FixedTransfer price(const TransferPlan& plan) const;
    bool same_load(const TransferPlan& a, const TransferPlan& b) const;
    bool all_alike(const CollectiveCall& call, const Group& group, const TransferPlan& first) const;

    const NetworkModel& network_;
    Mesh mesh_;
    std::map<CallKey, std::optional<FixedTransfer>> collectives_;
    std::map<Way, bool> alike_;
    std::map<std::tuple<std::uint32_t, int, std::int64_t, int>, std::optional<FixedTransfer>>
        sends_;
};

}  // namespace orrery
