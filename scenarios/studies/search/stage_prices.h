// SPDX-License-Identifier: Apache-2.0
// Times of transfers on an idle network, computed once for all plans with one mesh. They exist only
// if the transfers of all groups of a kind take the same time. This is checked once for each way in
// which the network runs them, by comparing their link loads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "engine/folded/folded_step.h"
#include "engine/program/network_model.h"

namespace orrery {

class StagePrices {
public:
    // `network` must outlive the prices. Results for one mesh hold for all meshes with the same
    // groups; `others`, if not null, has those of another mesh.
    StagePrices(const NetworkModel& network, const Mesh& mesh, const StagePrices* others = nullptr)
        : network_(network),
          mesh_(mesh),
          known_(others != nullptr ? others->known_ : std::make_shared<Known>()) {}

    // The price of a collective of every group that spans these digits (and of the coordinates
    // `subset` along `subset_digit`, if not empty); empty if the groups differ.
    std::optional<FixedTransfer> collective(const CollectiveCall& call, const Group& group);
    // The price of a message from each rank whose coordinate along `digit` is `from` (-1: all
    // ranks) to the rank `delta` further; empty if the messages differ.
    std::optional<FixedTransfer> send(std::uint32_t digit, int delta, Bytes bytes, int from);

private:
    // Ranks, then stride, size and subset of each digit: they determine the groups.
    using Geometry = std::vector<std::uint32_t>;
    // Kind, communicator, wire, mover.
    using Kind = std::tuple<Geometry, CollectiveKind, std::uint16_t, Dtype, Mover>;
    using CallKey = std::pair<Kind, std::int64_t>;
    // Algorithm, protocol, channels.
    using Way = std::tuple<Kind, std::string, std::string, std::uint32_t>;
    // Along, delta, from.
    using Hop = std::tuple<Geometry, int, int>;
    struct Known {
        std::map<CallKey, std::optional<FixedTransfer>> collectives;
        std::map<Way, bool> alike;
        std::map<std::pair<Hop, std::int64_t>, std::optional<FixedTransfer>> sends;
        std::map<std::tuple<Hop, std::string, std::uint32_t>, bool> hops_alike;
    };

    // The same for this mesh, whose digits determine the geometry.
    using OwnCall =
        std::tuple<std::uint32_t, CollectiveKind, std::uint16_t, Dtype, Mover, std::int64_t>;
    using OwnSend = std::tuple<std::uint32_t, int, int, std::int64_t>;

    std::optional<FixedTransfer> ask_collective(const CollectiveCall& call, const Group& group);
    std::optional<FixedTransfer> ask_send(std::uint32_t digit, int delta, Bytes bytes, int from);
    Geometry geometry_of(const Group& group) const;
    FixedTransfer price(const TransferPlan& plan) const;
    bool same_load(const TransferPlan& a, const TransferPlan& b) const;
    bool all_alike(const CollectiveCall& call, const Group& group, const TransferPlan& first) const;
    bool leads(RankId rank, const Group& group) const;
    std::vector<RankId> senders(std::uint32_t digit, int from) const;

    const NetworkModel& network_;
    Mesh mesh_;
    std::shared_ptr<Known> known_;
    std::map<OwnCall, std::optional<FixedTransfer>> own_collectives_;  // of whole digits
    std::map<OwnSend, std::optional<FixedTransfer>> own_sends_;
};

}  // namespace orrery
