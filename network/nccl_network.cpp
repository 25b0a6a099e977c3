// SPDX-License-Identifier: Apache-2.0
#include "network/nccl_network.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "engine/base/check.h"
#include "network/collectives/all_to_all.h"
#include "network/collectives/channel_router.h"
#include "network/collectives/nvls.h"
#include "network/collectives/pat.h"
#include "network/collectives/pipeline_fill.h"
#include "network/collectives/ring.h"
#include "network/collectives/send.h"
#include "network/collectives/tree.h"
#include "network/fabric/port_limits.h"
#include "network/nccl_p2p.h"
#include "network/nccl_run.h"

namespace orrery {
namespace {

Time microseconds(double us) {
    return Time::seconds(us * 1e-6);
}

// An efficiency below one occupies the links for longer; rates that NCCL itself limits do not
// change.
std::int64_t inefficient(std::int64_t bytes, const CongestionFactor& factor) {
    return factor.efficiency == 1.0 ? bytes
                                    : static_cast<std::int64_t>(std::ceil(
                                          static_cast<double>(bytes) / factor.efficiency));
}

// The start-up of a call. NCCL's table, which decides its choices, has 0.6 us for a step of a ring
// in LL over NVLink on any GPU. On a DGX A100, rings of 2 to 8 GPUs take 10, 13.76, 16.88, 20.8,
// 25.2, 29.5 and 33.7 us for 8 to 128 B (nccl-tests, issue 123): by least squares 5.56 us and 1.98
// us a step. Hopper's published 8 B agree with the table.
double start_up_us(const NcclChoice& choice,
                   CollectiveKind kind,
                   std::uint32_t ranks_of_node,
                   std::uint32_t compute_capability,
                   bool nvlink) {
    const bool measured = choice.algorithm == NcclAlgorithm::ring &&
                          choice.protocol == NcclProtocol::ll && compute_capability / 10 == 8 &&
                          nvlink && ranks_of_node > 0 && kind != CollectiveKind::broadcast;
    if (!measured) {
        return choice.latency_us;
    }
    const std::uint32_t passes = kind == CollectiveKind::all_reduce ? 2 : 1;
    return 5.56 + 1.98 * passes * (ranks_of_node - 1);
}

}  // namespace

NcclNetwork::NcclNetwork(Fabric fabric, const NcclNetworkOptions& options)
    : fabric_(std::move(fabric)),
      options_(options),
      class_names_(fabric_.link_class_names().begin(), fabric_.link_class_names().end()),
      numbers_(fabric_.links().size()),
      connections_(fabric_, options.number_connections ? &numbers_ : nullptr) {
    if (options_.number_connections) {
        links_.assign(fabric_.links().begin(), fabric_.links().end());
        class_names_.emplace_back("connection");
    }
}

std::span<const LinkInfo> NcclNetwork::links() const {
    if (!options_.number_connections) {
        return fabric_.links();
    }
    // Large enough to limit nothing, and small enough that sums do not overflow.
    constexpr Bandwidth kNeverFull = Bandwidth::bits_per_second(std::int64_t{1} << 56);
    const std::scoped_lock lock(mutex_);
    links_.resize(fabric_.links().size() + numbers_.connections().size(),
                  {.capacity = kNeverFull,
                   .link_class = static_cast<std::uint16_t>(class_names_.size() - 1)});
    return links_;
}

bool NcclNetwork::MembersLess::operator()(std::span<const RankId> a,
                                          std::span<const RankId> b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}

// A channel of NCCL is one block of a kernel, which fills an SM.
void NcclNetwork::set_mover(TransferPlan& plan,
                            TransferEngine engine,
                            std::uint32_t num_sms) const {
    plan.engine = options_.compute_capability == 0 ? TransferEngine::host : engine;
    if (plan.engine == TransferEngine::sm) {
        plan.sms = num_sms == 0 ? plan.channels : std::min(plan.channels, num_sms);
    }
}

CongestionFactor NcclNetwork::factor_of(CollectiveKind kind,
                                        bool network,
                                        const Dispatcher* own) const {
    const bool all_to_all = kind == CollectiveKind::all_to_all;
    if (network && options_.congestion) {
        return all_to_all ? options_.congestion->all_to_all : options_.congestion->ring;
    }
    if (!network || !all_to_all) {
        return {.efficiency = 1, .queueing_delay = {}};
    }
    const bool packets = options_.number_connections;  // packets find their own rates
    const double share = own == nullptr ? options_.all_to_all_share
                         : packets      ? 1
                                        : own->network_share;
    return {.efficiency = share, .queueing_delay = {}};
}

CongestionFactor NcclNetwork::factor_of_send(bool network) const {
    return network && options_.congestion ? options_.congestion->point_to_point
                                          : CongestionFactor{};
}

const NcclChoice& NcclNetwork::choice_of(const Group& group, const CollectiveCall& call) const {
    const ChoiceKey key{group.tuning, call.kind, call.bytes.count(), call.wire};
    auto known = choices_.find(key);
    if (known == choices_.end()) {
        const auto choice =
            group.tuning->choose(nccl_function(call.kind), call.bytes.count(), call.wire);
        known = choices_.emplace(key, choice).first;
    }
    return known->second;
}

const std::vector<PartShape>& NcclNetwork::parts_of(Group& group,
                                                    const CollectiveCall& call,
                                                    int algorithm,
                                                    std::uint32_t channels) const {
    // Only PAT and NVLS depend on the kind of collective; rings do not.
    const auto as = static_cast<NcclAlgorithm>(algorithm);
    const bool by_kind =
        algorithm != kAllToAll && (as == NcclAlgorithm::pat || as == NcclAlgorithm::nvls);
    const PartsKey key{
        algorithm, channels, by_kind ? call.kind : CollectiveKind::all_reduce, call.communicator};
    const auto known = group.parts.find(key);
    if (known != group.parts.end()) {
        return known->second;
    }
    auto& parts = group.parts[key];
    parts = make_parts(group, call, algorithm, channels, connections_);
    return parts;
}

std::vector<PartShape> NcclNetwork::make_parts(const Group& group,
                                               const CollectiveCall& call,
                                               int algorithm,
                                               std::uint32_t channels,
                                               Connections& connections) const {
    if (algorithm == kAllToAll) {
        return all_to_all_parts(fabric_, group.layout, call.communicator, &connections);
    }
    const auto as = static_cast<NcclAlgorithm>(algorithm);
    const ChannelRouter router(fabric_, group.layout, call.communicator, &connections);
    const std::uint32_t found = group.tuning->communicator().graph(as).channels;
    switch (as) {
        case NcclAlgorithm::ring:
            return ring_parts(router, channels, found);
        case NcclAlgorithm::tree:
            return tree_parts(router, channels, found);
        case NcclAlgorithm::nvls:
            return nvls_parts(router, call.kind);
        case NcclAlgorithm::nvls_tree:
            return nvls_tree_parts(router, channels);
        case NcclAlgorithm::pat:
            break;
    }
    return pat_parts(router, call.kind, channels, found);
}

// Copy engines forward whole blocks at the same time, so that no block is in flight at the end.
double NcclNetwork::fill_of(const Group& group,
                            const CollectiveCall& call,
                            const NcclChoice& choice,
                            double bandwidth,
                            TransferEngine engine) const {
    if (engine == TransferEngine::copy_engine) {
        return 0;
    }
    const bool network = group.layout.num_nodes() > 1;
    return pipeline_fill_us(choice,
                            {.bytes = std::max<std::int64_t>(call.bytes.count(), 1),
                             .num_nodes = group.layout.num_nodes(),
                             .num_ranks = group.layout.num_ranks(),
                             .heads = network ? group.layout.num_rails() : group.layout.num_ranks(),
                             .passes = call.kind == CollectiveKind::all_reduce ? 2u : 1u,
                             .chain = call.kind == CollectiveKind::broadcast,
                             .nvls_tree_chunk = group.tuning->communicator().nvls_tree_chunk},
                            bandwidth);
}

TransferPart NcclNetwork::Outline::part(const PartShape& shape) const {
    const std::int64_t divisor = divided ? shape.divisor : 1;
    const std::int64_t bytes = (progress + divisor - 1) / divisor;
    const double rate = bandwidth / static_cast<double>(divisor) / factor.efficiency;
    return {.footprint = shape.footprint,
            .bytes = Bytes(inefficient(bytes, factor)),
            .rate_max = nccl_rate(rate)};
}

TransferPlan NcclNetwork::Outline::laid(std::span<const PartShape> shapes) const {
    TransferPlan out = plan;
    out.phases.back().parts.reserve(shapes.size());
    for (const PartShape& shape : shapes) {
        out.phases.back().parts.push_back(part(shape));
    }
    return out;
}

NcclNetwork::Outline NcclNetwork::outline_of(Group& group, const CollectiveCall& call) const {
    if (call.kind == CollectiveKind::all_to_all) {
        return outline_of_all_to_all(group, call);
    }
    const auto [choice, bandwidth, engine] =
        nccl_run(call, choice_of(group, call), *group.tuning, group.node);
    Outline out{.plan = {.phases = {}, .algorithm = std::string(name(choice.algorithm))},
                .algorithm = static_cast<int>(choice.algorithm),
                .channels = choice.channels,
                .progress = nccl_progress(call, choice.algorithm, group.layout.num_ranks())};
    const std::int64_t bytes = std::max<std::int64_t>(call.bytes.count(), 1);
    const double fill_us = fill_of(group, call, choice, bandwidth, engine);
    out.bandwidth =
        std::min(bandwidth * static_cast<double>(out.progress) / static_cast<double>(bytes),
                 group.layout.over_tcp() ? kTcpThread : kNoPortLimit);
    if (engine != TransferEngine::copy_engine) {
        out.plan.protocol = name(choice.protocol);
        out.plan.channels = choice.channels;
    }
    set_mover(out.plan, engine, group.num_sms);
    const bool network = group.layout.num_nodes() > 1;
    out.factor = factor_of(call.kind, network && !group.layout.over_tcp());
    const double latency_us = start_up_us(choice,
                                          call.kind,
                                          network ? 0 : group.layout.num_ranks(),
                                          group.tuning->communicator().compute_capability,
                                          group.node.intra_node != IntraNodeKind::pcie);
    out.plan.phases.push_back(
        {.latency = microseconds(latency_us + fill_us) + out.factor.queueing_delay, .parts = {}});
    return out;
}

// With adaptive routing a connection keeps the path that it had when it was opened.
std::vector<PartShape> NcclNetwork::send_shapes(RankId from,
                                                RankId to,
                                                std::uint32_t channels) const {
    if (!connections_.adaptive() && !connections_.numbered()) {
        return send_parts(fabric_, from, to, channels);
    }
    const std::scoped_lock lock(mutex_);
    auto& shapes = sends_[{from, to, channels}];
    if (shapes.empty()) {
        shapes = send_parts(fabric_, from, to, channels, &connections_);
    }
    return shapes;
}

NcclNetwork::Outline NcclNetwork::outline_of_send(RankId from,
                                                  RankId to,
                                                  const SendCall& send) const {
    const std::uint32_t node = fabric_.node_of(from);
    const bool network = node != fabric_.node_of(to);
    const bool tcp = network && fabric_.over_tcp(node, fabric_.node_of(to));
    const bool nvlink = fabric_.node_spec(node).intra_node != IntraNodeKind::pcie;
    const std::uint32_t channels = nccl_send_channels(send, network);
    Outline out{
        .plan = {.phases = {}, .algorithm = "p2p", .protocol = "Simple", .channels = channels},
        .channels = channels,
        .progress = send.bytes.count(),
        .bandwidth = send_bandwidth(from, to, channels),
        .factor = factor_of_send(network && !tcp)};
    const std::uint32_t sms_here = device_of(fabric_.kind_of(from)).num_sms;
    const std::uint32_t sms_there = device_of(fabric_.kind_of(to)).num_sms;
    set_mover(out.plan, TransferEngine::sm, std::min(sms_here, sms_there));
    out.plan.phases.push_back(
        {.latency =
             nccl_message_start_up(NcclProtocol::simple, network, nvlink, message_latency(tcp)) +
             out.factor.queueing_delay,
         .parts = {}});
    return out;
}

TransferPlan NcclNetwork::plan(const TransferCall& call, std::span<const RankId> members) const {
    if (const auto* copy = std::get_if<CopyCall>(&call)) {
        return {.phases = {fabric_.copy(members.front(), *copy)},
                .algorithm = "copy",
                .protocol = "",
                .engine = TransferEngine::copy_engine};
    }
    if (members.size() < 2 || members.front() == members.back()) {
        return {};
    }
    if (const auto* send = std::get_if<SendCall>(&call)) {
        const Outline outline = outline_of_send(members[0], members[1], *send);
        return outline.laid(send_shapes(members[0], members[1], outline.channels));
    }
    const auto& collective = std::get<CollectiveCall>(call);
    if (std::optional<TransferPlan> rows = plan_rows(collective, members)) {
        return *std::move(rows);
    }
    const std::scoped_lock lock(mutex_);
    Group& group = group_of(members);
    const Outline outline = outline_of(group, collective);
    return outline.laid(parts_of(group, collective, outline.algorithm, outline.channels));
}

std::vector<NcclNetwork::Channel> NcclNetwork::channels_of(const TransferCall& call,
                                                           std::span<const RankId> members,
                                                           const LinkState& state) const {
    std::vector<Channel> channels;
    if (const auto* copy = std::get_if<CopyCall>(&call)) {
        for (TransferPart& part : fabric_.copy(members.front(), *copy).parts) {
            const bool broken = std::ranges::any_of(part.footprint, [&](const LinkShare& share) {
                return !state.is_up(static_cast<std::uint32_t>(index(share.link)));
            });
            channels.push_back({std::move(part), broken});
        }
        return channels;
    }
    if (members.size() < 2 || members.front() == members.back()) {
        return channels;
    }
    if (const auto* all = std::get_if<CollectiveCall>(&call)) {
        if (std::optional<TransferPlan> rows = plan_rows(*all, members)) {
            for (TransferPart& part : rows->phases.front().parts) {
                const bool broken = std::ranges::any_of(part.footprint, [&](const LinkShare& s) {
                    return !state.is_up(static_cast<std::uint32_t>(index(s.link)));
                });
                channels.push_back({std::move(part), broken});
            }
            return channels;
        }
    }
    Connections connections(state);
    Outline outline;
    std::vector<PartShape> shapes;
    if (const auto* send = std::get_if<SendCall>(&call)) {
        outline = outline_of_send(members[0], members[1], *send);
        shapes = send_parts(fabric_, members[0], members[1], outline.channels, &connections);
    } else {
        const auto& collective = std::get<CollectiveCall>(call);
        const std::scoped_lock lock(mutex_);
        Group& group = group_of(members);
        outline = outline_of(group, collective);
        shapes = make_parts(group, collective, outline.algorithm, outline.channels, connections);
    }
    for (const PartShape& shape : shapes) {
        channels.push_back({outline.part(shape), shape.broken});
    }
    return channels;
}

std::vector<OtherPath> NcclNetwork::paths_around(const TransferCall& call,
                                                 std::span<const RankId> members,
                                                 std::span<const std::uint8_t> down) const {
    const std::vector<Channel> before = channels_of(call, members, {});
    const std::vector<Channel> after = channels_of(call, members, {.down = down});
    ORRERY_CHECK(before.size() == after.size());
    std::vector<OtherPath> paths;
    for (std::size_t i = 0; i < before.size(); ++i) {
        paths.push_back(
            {.part = before[i].part,
             .around = after[i].broken ? std::vector<LinkShare>{} : after[i].part.footprint});
    }
    return paths;
}

std::optional<NcclChoice> NcclNetwork::estimate(const CollectiveCall& call,
                                                std::span<const RankId> members) const {
    if (members.size() < 2 || call.kind == CollectiveKind::all_to_all) {
        return std::nullopt;
    }
    const std::scoped_lock lock(mutex_);
    return choice_of(group_of(members), call);
}

}  // namespace orrery
