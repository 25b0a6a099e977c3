// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/toy_network.h"

#include <algorithm>
#include <map>

namespace orrery {

ToyNetwork::ToyNetwork(const ToyNetworkSpec& spec) : spec_(spec) {
    const auto link = [](std::int64_t bps, std::uint16_t link_class) {
        return LinkInfo{Bandwidth::bits_per_second(bps), link_class};
    };
    links_.assign(std::size_t{2} * spec.num_ranks, link(spec.port_bps, 0));
    const std::uint32_t nodes = (spec.num_ranks + spec.ranks_per_node - 1) / spec.ranks_per_node;
    links_.resize(links_.size() + std::size_t{2} * nodes * spec.uplinks, link(spec.uplink_bps, 1));
    links_.resize(links_.size() + std::size_t{2} * nodes, link(spec.drive_bps, 2));
}

LinkId ToyNetwork::drive(RankId rank, bool writes) const {
    const std::size_t nodes = (spec_.num_ranks + spec_.ranks_per_node - 1) / spec_.ranks_per_node;
    const std::size_t node = index(rank) / spec_.ranks_per_node;
    return to_id<LinkId>(links_.size() - 2 * (nodes - node) + (writes ? 1 : 0));
}

std::vector<LinkId> ToyNetwork::path(RankId from, RankId to) const {
    std::vector<LinkId> links{port_out(from), port_in(to)};
    const std::size_t node_from = index(from) / spec_.ranks_per_node;
    const std::size_t node_to = index(to) / spec_.ranks_per_node;
    if (node_from != node_to) {
        std::size_t which = index(from) % spec_.ranks_per_node;
        if (spec_.hashed) {
            which = (index(from) * 2654435761u ^ index(to) * 40503u) >> 7;
        }
        which %= spec_.uplinks;
        const std::size_t base = std::size_t{2} * spec_.num_ranks;
        links.push_back(to_id<LinkId>(base + (node_from * spec_.uplinks + which) * 2));
        links.push_back(to_id<LinkId>(base + (node_to * spec_.uplinks + which) * 2 + 1));
    }
    return links;
}

TransferPlan ToyNetwork::plan(const TransferCall& call, std::span<const RankId> members) const {
    if (const auto* send = std::get_if<SendCall>(&call)) {
        return plan_send(members[0], members[1], send->bytes);
    }
    if (const auto* copy = std::get_if<CopyCall>(&call)) {
        return plan_copy(*copy, members[0]);
    }
    return plan_collective(std::get<CollectiveCall>(call), members);
}

TransferPlan ToyNetwork::plan_collective(const CollectiveCall& call,
                                         std::span<const RankId> members) const {
    TransferPlan plan{.phases = {},
                      .sms = spec_.collective_sms,
                      .algorithm = "ring",
                      .protocol = "Simple",
                      .channels = spec_.channels};
    const std::size_t n = members.size();
    for (std::uint32_t p = 0; p < spec_.phases; ++p) {
        TransferPhase phase{.latency = spec_.latency * static_cast<std::int64_t>(n), .parts = {}};
        for (std::uint32_t c = 0; c < spec_.channels; ++c) {
            std::map<LinkId, std::uint32_t> counts;
            for (std::size_t i = 0; i < n; ++i) {
                const RankId a = members[i];
                const RankId b = members[(i + 1) % n];
                for (const LinkId link : c % 2 == 0 ? path(a, b) : path(b, a)) {
                    ++counts[link];
                }
            }
            TransferPart part{.footprint = {},
                              .bytes = Bytes{call.bytes.count() / spec_.channels *
                                             (c == 2 ? 2 : 1) * (p == 1 ? 3 : 1)},
                              .rate_max = Bandwidth::bits_per_second(spec_.rate_max_bps)};
            for (const auto& [link, count] : counts) {
                part.footprint.push_back({link, count});
            }
            phase.parts.push_back(std::move(part));
        }
        plan.phases.push_back(std::move(phase));
    }
    return plan;
}

TransferPlan ToyNetwork::plan_send(RankId from, RankId to, Bytes bytes) const {
    TransferPart part{.footprint = {},
                      .bytes = bytes,
                      .rate_max = Bandwidth::bits_per_second(spec_.rate_max_bps)};
    std::vector<LinkId> links = path(from, to);
    std::sort(links.begin(), links.end());
    for (const LinkId link : links) {
        part.footprint.push_back({link, 1});
    }
    return {.phases = {{.latency = spec_.latency, .parts = {part}}},
            .sms = spec_.send_sms,
            .algorithm = "p2p",
            .protocol = "Simple",
            .channels = 1};
}

TransferPlan ToyNetwork::plan_copy(const CopyCall& call, RankId rank) const {
    const bool stored = call.from == MemoryTier::nvme || call.to == MemoryTier::nvme;
    const LinkId port = call.from == MemoryTier::hbm ? port_out(rank) : port_in(rank);
    const LinkId link = stored ? drive(rank, call.to == MemoryTier::nvme) : port;
    const TransferPart part{.footprint = {{link, 1}}, .bytes = call.bytes, .rate_max = {}};
    return {.phases = {{.latency = spec_.latency, .parts = {part}}},
            .algorithm = "copy",
            .protocol = "",
            .engine = TransferEngine::copy_engine};
}

}  // namespace orrery
