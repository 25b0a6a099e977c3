// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/table_network.h"

#include <algorithm>
#include <map>

#include "tests/reference/dice.h"

namespace orrery::reference {
namespace {

// Ports of a rank, in the order of their links.
enum Port : std::uint32_t { kNvlinkOut, kNvlinkIn, kNicOut, kNicIn, kNumPorts };

Bytes split(Bytes bytes, std::size_t parts) {
    const auto n = static_cast<std::int64_t>(parts);
    return Bytes{(bytes.count() + n - 1) / n};
}

}  // namespace

TableNetwork::TableNetwork(const TableNetworkShape& shape) : shape_(shape) {
    for (std::uint32_t r = 0; r < shape_.num_ranks; ++r) {
        for (std::uint32_t p = 0; p < kNumPorts; ++p) {
            const bool is_nvlink = p == kNvlinkOut || p == kNvlinkIn;
            links_.push_back({.capacity = is_nvlink ? shape_.nvlink : shape_.nic,
                              .link_class = static_cast<std::uint16_t>(is_nvlink ? 0 : 1)});
        }
    }
    const std::uint32_t leaves = leaf_of(to_id<RankId>(shape_.num_ranks - 1)) + 1;
    links_.resize(links_.size() + std::size_t{leaves} * shape_.uplinks_per_leaf * 2,
                  {.capacity = shape_.uplink, .link_class = 2});
    first_drive_ = links_.size();
    const std::uint32_t nodes = node_of(to_id<RankId>(shape_.num_ranks - 1)) + 1;
    links_.resize(links_.size() + std::size_t{nodes} * 2,
                  {.capacity = shape_.drive, .link_class = 3});
}

std::uint32_t TableNetwork::node_of(RankId rank) const {
    return static_cast<std::uint32_t>(index(rank)) / shape_.ranks_per_node;
}

std::uint32_t TableNetwork::leaf_of(RankId rank) const {
    return node_of(rank) / shape_.nodes_per_leaf;
}

LinkId TableNetwork::port(std::uint32_t kind, RankId rank) const {
    return to_id<LinkId>(index(rank) * kNumPorts + kind);
}

LinkId TableNetwork::uplink(std::uint32_t leaf, std::uint32_t which, bool up) const {
    const std::size_t first = std::size_t{shape_.num_ranks} * kNumPorts;
    const std::size_t pair = std::size_t{leaf} * shape_.uplinks_per_leaf + which;
    return to_id<LinkId>(first + 2 * pair + (up ? 0 : 1));
}

void TableNetwork::add_path(RankId from,
                            RankId to,
                            std::uint64_t label,
                            std::vector<LinkId>& links) const {
    if (node_of(from) == node_of(to)) {
        links.insert(links.end(), {port(kNvlinkOut, from), port(kNvlinkIn, to)});
        return;
    }
    links.push_back(port(kNicOut, from));
    if (leaf_of(from) != leaf_of(to)) {
        const std::uint64_t place =
            index(from) % (std::size_t{shape_.ranks_per_node} * shape_.nodes_per_leaf);
        const std::uint64_t hash =
            mixed(mixed(mixed(shape_.salt + label) + index(from)) + index(to));
        const std::uint64_t spread = shape_.hashed ? hash : place;
        const auto which = static_cast<std::uint32_t>(spread % shape_.uplinks_per_leaf);
        links.push_back(uplink(leaf_of(from), which, true));
        links.push_back(uplink(leaf_of(to), which, false));
    }
    links.push_back(port(kNicIn, to));
}

TransferPart TableNetwork::part(std::vector<LinkId> links, Bytes bytes) const {
    std::map<LinkId, std::uint32_t> counts;
    for (const LinkId link : links) {
        counts[link] += 1;
    }
    TransferPart part{.bytes = bytes, .rate_max = shape_.rate_max};
    for (const auto& [link, count] : counts) {
        part.footprint.push_back({.link = link, .count = count});
    }
    return part;
}

TransferPhase TableNetwork::rings(Ranks members, Bytes bytes, std::uint32_t channels) const {
    TransferPhase phase{.latency = shape_.hop_latency * static_cast<std::int64_t>(members.size())};
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
        std::vector<LinkId> links;
        for (std::size_t m = 0; m < members.size(); ++m) {
            add_path(members[m], members[(m + 1) % members.size()], channel, links);
        }
        phase.parts.push_back(part(std::move(links), split(bytes, channels)));
    }
    return phase;
}

TransferPhase TableNetwork::exchange(Ranks members, Bytes bytes) const {
    TransferPhase phase{.latency = shape_.hop_latency};
    for (std::size_t distance = 1; distance < members.size(); ++distance) {
        std::vector<LinkId> links;
        for (std::size_t m = 0; m < members.size(); ++m) {
            add_path(members[m], members[(m + distance) % members.size()], distance, links);
        }
        phase.parts.push_back(part(std::move(links), split(bytes, members.size())));
    }
    return phase;
}

std::vector<TransferPhase> TableNetwork::hierarchy(const std::vector<std::vector<RankId>>& by_node,
                                                   Bytes bytes) const {
    TransferPhase within{.latency = shape_.hop_latency};
    for (const std::vector<RankId>& node : by_node) {
        std::vector<LinkId> links;
        for (std::size_t m = 0; m < node.size(); ++m) {
            add_path(node[m], node[(m + 1) % node.size()], 0, links);
        }
        within.parts.push_back(part(std::move(links), bytes));
    }
    TransferPhase between{.latency =
                              shape_.hop_latency * static_cast<std::int64_t>(by_node.size())};
    const std::size_t places = by_node.front().size();
    for (std::size_t place = 0; place < places; ++place) {
        std::vector<LinkId> links;
        for (std::size_t n = 0; n < by_node.size(); ++n) {
            add_path(by_node[n][place], by_node[(n + 1) % by_node.size()][place], place, links);
        }
        between.parts.push_back(part(std::move(links), split(bytes, places)));
    }
    return {within, between, within};
}

TransferPlan TableNetwork::plan(const TransferCall& call, Ranks members) const {
    if (const auto* send = std::get_if<SendCall>(&call)) {
        return plan_send(members[0], members[1], send->bytes);
    }
    if (const auto* copy = std::get_if<CopyCall>(&call)) {
        return plan_copy(*copy, members[0]);
    }
    return plan_collective(std::get<CollectiveCall>(call), members);
}

TransferPlan TableNetwork::plan_collective(const CollectiveCall& call, Ranks members) const {
    ORRERY_CHECK(members.size() > 1);
    const bool copies = call.mover.engine == TransferEngine::copy_engine;
    const std::uint32_t channels =
        call.mover.sm_limit > 0 ? std::min<std::uint32_t>(shape_.channels, call.mover.sm_limit)
                                : shape_.channels;
    TransferPlan plan{.sms = copies ? 0 : channels * shape_.collective_sms,
                      .algorithm = "table",
                      .protocol = "Simple",
                      .channels = channels,
                      .engine = call.mover.engine};
    std::vector<std::vector<RankId>> by_node;
    for (const RankId rank : members) {
        if (by_node.empty() || node_of(by_node.back().front()) != node_of(rank)) {
            by_node.push_back({});
        }
        by_node.back().push_back(rank);
    }
    const bool even = std::ranges::all_of(by_node, [&](const std::vector<RankId>& node) {
        return node.size() == by_node.front().size() && node.size() > 1;
    });
    const auto n = static_cast<std::int64_t>(members.size());
    const Bytes sent = Bytes{call.bytes.count() * (n - 1) / n};
    const bool is_all_reduce = call.kind == CollectiveKind::all_reduce;
    if (call.kind == CollectiveKind::all_to_all && n <= 16) {
        plan.phases = {exchange(members, call.bytes)};
    } else if (is_all_reduce && shape_.hierarchical && even && by_node.size() > 1) {
        plan.phases = hierarchy(by_node, sent);
    } else if (call.bytes == Bytes{}) {
        plan.phases = {{.latency = shape_.hop_latency}, rings(members, Bytes{}, channels)};
    } else {
        plan.phases = {rings(members, is_all_reduce ? sent * 2 : sent, channels)};
    }
    return plan;
}

TransferPlan TableNetwork::plan_send(RankId from, RankId to, Bytes bytes) const {
    ORRERY_CHECK(from != to);
    TransferPlan plan{.sms = shape_.send_sms,
                      .algorithm = "p2p",
                      .protocol = "Simple",
                      .channels = shape_.channels};
    TransferPhase phase{.latency = shape_.hop_latency};
    for (std::uint32_t channel = 0; channel < shape_.channels; ++channel) {
        std::vector<LinkId> links;
        add_path(from, to, channel, links);
        phase.parts.push_back(part(std::move(links), split(bytes, shape_.channels)));
    }
    plan.phases = {std::move(phase)};
    return plan;
}

TransferPlan TableNetwork::plan_copy(const CopyCall& call, RankId rank) const {
    const bool writes = call.to == MemoryTier::nvme;
    std::vector<LinkId> links;
    if (writes || call.from == MemoryTier::nvme) {
        links.push_back(
            to_id<LinkId>(first_drive_ + std::size_t{node_of(rank)} * 2 + (writes ? 1 : 0)));
    } else {
        links.push_back(port(call.from == MemoryTier::hbm ? kNicOut : kNicIn, rank));
    }
    return {
        .phases = {{.latency = shape_.hop_latency, .parts = {part(std::move(links), call.bytes)}}},
        .algorithm = "copy",
        .engine = TransferEngine::copy_engine};
}

}  // namespace orrery::reference
