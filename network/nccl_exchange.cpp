// SPDX-License-Identifier: Apache-2.0
// The parts of NcclNetwork that lay exchanges on links: all_to_all, and rows by a dispatcher.
#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/base/check.h"
#include "network/collectives/channel_router.h"
#include "network/fabric/port_limits.h"
#include "network/nccl/nccl_channel.h"
#include "network/nccl_network.h"
#include "network/nccl_run.h"

namespace orrery {
namespace {

constexpr double kSharesOfBusiestLink = 1 << 20;
// The time to sum one BF16 element: conversion to FP32, addition, and its share of the conversion
// back, on 128 lanes at 1.8 GHz.
constexpr double kSumOfElement_us = 3.0 / (128 * 1.8e3);

bool is_nvlink(const Fabric& fabric, std::size_t link) {
    return link < fabric.links().size() &&
           fabric.links()[link].link_class == static_cast<std::uint16_t>(LinkClass::nvlink);
}

// The number of the members' nodes, if the members are in node order with equal numbers per node.
std::optional<std::uint32_t> equal_servers(const Fabric& fabric, std::span<const RankId> members) {
    std::uint32_t servers = 1;
    std::size_t first = 0;
    std::size_t of_server = members.size();
    for (std::size_t i = 1; i <= members.size(); ++i) {
        if (i < members.size() && fabric.node_of(members[i]) == fabric.node_of(members[first])) {
            continue;
        }
        of_server = first == 0 ? i : of_server;
        if (i - first != of_server) {
            return std::nullopt;
        }
        servers += i < members.size() ? 1 : 0;
        first = i;
    }
    return servers;
}

// The same if a row is sent for each choice; other counts are not filled.
RoutedRows shared_choices(const RowExchange& call, std::uint32_t ranks, std::uint32_t servers) {
    RoutedRows rows{.ranks = ranks,
                    .servers = servers,
                    .tokens = static_cast<double>(call.tokens),
                    .experts = call.experts};
    std::vector<double> of_sender(ranks);  // all senders are equal
    for (std::uint32_t to = 0; to < ranks; ++to) {
        const double over_mean = call.shares[to] * 1e-6 * ranks;
        of_sender[to] = rows.tokens * call.choices / ranks * over_mean;
    }
    rows.choices.reserve(std::size_t{ranks} * ranks);
    for (std::uint32_t from = 0; from < ranks; ++from) {
        rows.choices.insert(rows.choices.end(), of_sender.begin(), of_sender.end());
    }
    return rows;
}

// The rows of a router without preferences, scaled to each member's share.
RoutedRows rows_of_call(const RowExchange& call,
                        const Dispatcher& by,
                        std::uint32_t ranks,
                        std::uint32_t servers) {
    if (by.copies == RowCopies::choice && call.shares.size() == ranks) {
        return shared_choices(call, ranks, servers);
    }
    RoutedRows rows = expected_rows({.ranks = ranks,
                                     .servers = servers,
                                     .experts = call.experts,
                                     .choices = call.choices,
                                     .server_limit = call.server_limit,
                                     .consecutive = call.consecutive,
                                     .tokens = static_cast<double>(call.tokens)});
    if (call.shares.size() == ranks) {
        scale_to_shares(rows, call.shares);
    }
    return rows;
}

bool moved_by_nccl(const Dispatcher& dispatcher) {
    return dispatcher.engine == TransferEngine::sm && dispatcher.sms == 0;
}

// NCCL's proxy posts the messages of the network peers one after the other (net overhead).
Time post_latency(const NcclCommunicator& communicator, std::uint32_t messages) {
    const double overhead_us = communicator.cpu == NcclCpu::amd ? 2.0 : 1.0;
    return Time::seconds(overhead_us * messages * 1e-6);
}

}  // namespace

// Bytes by half of a path and by link (ExchangePaths), and the work of the SMs by member.
struct PhaseLoads {
    std::vector<double> halves;
    std::vector<double> links;
    double fullest_nvlink = 0;
    std::vector<double> out_rows;  // to members of its server, including itself
    std::vector<double> in_rows;
    std::vector<double> own_bytes;
    std::vector<double> network_bytes;
    std::vector<std::uint32_t> network_messages;

    explicit PhaseLoads(std::size_t members)
        : out_rows(members, 0),
          in_rows(members, 0),
          own_bytes(members, 0),
          network_bytes(members, 0),
          network_messages(members, 0) {}

    void add(const ExchangePaths::Pair& pair, std::uint32_t num_halves, double bytes) {
        halves.resize(num_halves, 0);
        halves[pair.out] += bytes;
        halves[pair.in] += bytes;
    }
};

namespace {

double most(const std::vector<double>& of) {
    return of.empty() ? 0 : *std::ranges::max_element(of);
}

double fullest_nvlink(const Fabric& fabric, const ExchangePaths& paths, const PhaseLoads& loads) {
    double bytes = 0;
    for (std::uint32_t link = 0; link < loads.links.size(); ++link) {
        if (loads.links[link] > bytes && is_nvlink(fabric, index(paths.link(link)))) {
            bytes = loads.links[link];
        }
    }
    return bytes;
}

// A coupled transfer whose links carry these bytes and which takes at least `seconds`.
TransferPart part_of(ExchangePaths& paths,
                     const std::vector<double>& links,
                     double seconds,
                     double efficiency) {
    const double busiest = most(links);
    // With an efficiency below one, rounding would distort small numbers of bytes.
    const double fine = efficiency < 1 ? std::min(1000.0, std::ceil(std::sqrt(busiest))) : 1.0;
    const double share = std::max({1.0, fine, std::ceil(busiest / kSharesOfBusiestLink)});
    TransferPart part{.footprint = {},
                      .bytes = Bytes(static_cast<std::int64_t>(std::ceil(share / efficiency))),
                      .rate_max = nccl_rate(kNoPortLimit)};
    part.footprint.reserve(links.size());
    for (const std::uint32_t link : paths.in_order()) {
        if (link < links.size() && links[link] > 0) {
            part.footprint.push_back(
                {paths.link(link), static_cast<std::uint32_t>(std::ceil(links[link] / share))});
        }
    }
    if (seconds > 0) {
        part.rate_max = nccl_rate(static_cast<double>(part.bytes.count()) / seconds * 1e-9);
    }
    return part;
}

}  // namespace

NcclP2pChannels NcclNetwork::p2p_channels_of(const Group& group) const {
    const std::uint32_t nics =
        std::max(1u, group.layout.num_rails() / group.layout.shape().gpus_per_node);
    return nccl_p2p_channels(group.tuning->communicator(),
                             group.node,
                             nics,
                             fabric_.spec().fabric.nic_bandwidth.gigabytes_per_second());
}

double NcclNetwork::port_of(const Group& group) const {
    const double port =
        nccl_intra_bandwidth(group.node, group.tuning->communicator().compute_capability);
    return group.node.intra_node == IntraNodeKind::nvlink_mesh
               ? port / std::max(1u, group.node.gpus_per_node - 1)
               : port;
}

// Inside a node, the flows of one GPU together are no faster than NCCL's rings. Through a switch
// all peers share the channels, including the rank's message to itself: with 8 GPUs the published
// 210, 320 and 640 GB/s (A100, H100, B200) are 7/8 of 240, 371 and 722.
NcclNetwork::Outline NcclNetwork::outline_of_all_to_all(Group& group,
                                                        const CollectiveCall& call) const {
    const auto& layout = group.layout;
    const auto& shape = parts_of(group, call, kAllToAll, 0).front();
    const bool network = layout.num_nodes() > 1;
    const bool nvlink = group.node.intra_node != IntraNodeKind::pcie;
    const NcclP2pChannels p2p = p2p_channels_of(group);
    const std::int64_t of_peer = (call.bytes.count() + shape.divisor - 1) / shape.divisor;
    const NcclMessage message = nccl_message(of_peer,
                                             network  ? NcclMessagePath::network
                                             : nvlink ? NcclMessagePath::nvlink
                                                      : NcclMessagePath::pcie,
                                             p2p);
    const std::uint32_t network_peers = layout.num_ranks() - layout.shape().gpus_per_node;
    const auto factor = factor_of(call.kind, network && !layout.over_tcp());
    const Time step = Time::seconds(nccl_step_latency_us(message.protocol, network, nvlink) * 1e-6);
    const Time latency =
        nccl_message_start_up(
            message.protocol, network, nvlink, message_latency(layout.over_tcp())) +
        step * std::int64_t{nccl_batches(layout.num_ranks(), p2p, network) - 1} +
        post_latency(group.tuning->communicator(), network ? network_peers : 0) +
        factor.queueing_delay;
    std::uint32_t flows_per_port = 1;
    for (const auto& share : shape.footprint) {
        if (is_nvlink(fabric_, index(share.link))) {
            flows_per_port = std::max(flows_per_port, share.count);
        }
    }
    flows_per_port += group.node.intra_node == IntraNodeKind::nvswitch ? 1 : 0;
    const TransferEngine engine = transfer_engine(call, group.layout.num_nodes());
    const std::uint32_t limit = call.mover.sm_limit;
    const std::uint32_t channels = limit > 0 ? std::min(p2p.all, limit) : p2p.all;
    const bool local = layout.shape().gpus_per_node > 1;
    double rate = local ? port_of(group) / flows_per_port * channels / p2p.all : kNoPortLimit;
    if (message.protocol == NcclProtocol::ll) {
        rate /= 2;  // half of the moved bytes are flags
    }
    if (layout.over_tcp()) {
        rate = std::min(rate, kTcpThread / network_peers);
    }
    Outline out{.plan = {.phases = {}, .algorithm = "p2p"},
                .algorithm = kAllToAll,
                .progress = of_peer,
                .bandwidth = rate,
                .factor = factor,
                .divided = false};
    if (engine != TransferEngine::copy_engine) {
        out.plan.protocol = name(message.protocol);
        out.plan.channels = channels;
    }
    set_mover(out.plan, engine, group.num_sms);
    out.plan.phases.push_back({.latency = latency, .parts = {}});
    return out;
}

// The time of the busiest member's SMs. NCCL's channels together reach the bandwidth of the
// NVLinks; a library's own kernels are as fast as their channels.
double NcclNetwork::mover_seconds(const Group& group,
                                  const Exchange& exchange,
                                  const PhaseLoads& loads) const {
    const Dispatcher& dispatcher = *exchange.dispatcher;
    double seconds = group.layout.over_tcp() ? most(loads.network_bytes) / kTcpThread * 1e-9 : 0;
    if (dispatcher.engine != TransferEngine::sm) {
        return seconds;
    }
    const std::uint32_t sms = exchange.sm_limit > 0 ? exchange.sm_limit : dispatcher.sms;
    if (dispatcher.sms == 0) {
        const std::uint32_t all = p2p_channels_of(group).all;
        const std::uint32_t channels = sms == 0 ? all : std::min(all, sms);
        const bool shared = group.node.intra_node == IntraNodeKind::nvswitch;
        const double bytes = loads.fullest_nvlink + (shared ? most(loads.own_bytes) : 0.0);
        return std::max(seconds, bytes / port_of(group) * 1e-9 * all / channels);
    }
    const double rows = std::max(most(loads.out_rows), most(loads.in_rows));
    const double rate = nccl_channel_bandwidth(
        NcclProtocol::ll128, group.tuning->communicator().compute_capability, 1);
    double row_us = dispatcher.row_us + wire_bytes(exchange) / rate * 1e-3;
    if (exchange.combine && dispatcher.channel_sms == 1) {
        row_us += static_cast<double>(exchange.row.count()) / 2 * kSumOfElement_us;
    }
    const double channels = static_cast<double>(sms) / dispatcher.channel_sms;
    return std::max(seconds, rows * row_us * 1e-6 / std::max(channels, 1.0));
}

Time NcclNetwork::exchange_latency(const Group& group,
                                   const Exchange& exchange,
                                   std::uint32_t network_messages) const {
    const Dispatcher& dispatcher = *exchange.dispatcher;
    const bool network = group.layout.num_nodes() > 1;
    const bool nvlink = group.node.intra_node != IntraNodeKind::pcie;
    // A row with flags beside it needs no handshake; other rows wait as in Simple.
    const NcclProtocol protocol =
        dispatcher.row_header > 0 ? NcclProtocol::ll : NcclProtocol::simple;
    Time latency =
        nccl_message_start_up(protocol, network, nvlink, message_latency(group.layout.over_tcp()));
    const bool by_host = dispatcher.engine == TransferEngine::host && dispatcher.row_header == 0;
    if (moved_by_nccl(dispatcher) || by_host) {
        latency += post_latency(group.tuning->communicator(), network_messages);
    }
    latency += Time::seconds(network ? dispatcher.network_us * 1e-6 : 0);
    // Each of the other members' additions to the flag crosses two links.
    const std::uint32_t peers = group.layout.shape().gpus_per_node - 1;
    return latency + group.node.nvlink_latency * (std::int64_t{2} * dispatcher.barriers * peers);
}

TransferPhase NcclNetwork::phase_of(Group& group,
                                    const Exchange& exchange,
                                    const ExchangePhase& messages,
                                    ExchangePaths& paths,
                                    std::span<const RankId> members) const {
    PhaseLoads loads(members.size());
    const bool by_rail = exchange.dispatcher->route == DispatchRoute::pairs;
    Path path;
    const auto route = [&](RankId from, RankId to, bool& inside) -> std::span<const LinkId> {
        path.clear();
        inside = fabric_.node_of(from) == fabric_.node_of(to);
        const std::uint64_t label = flow_label(from, to, 0, exchange.communicator);
        const LinkState state = connections_.state();
        if (inside) {
            fabric_.gpu_to_gpu(from, to, path);
            return path.links;
        }
        if (by_rail) {
            fabric_.route_pxn(from, to, label, path, state);
        } else {
            fabric_.route(from, to, label, path, 0, state);
        }
        const NicPort out = by_rail ? fabric_.way_out(from, to).nic : fabric_.nic_towards(from, to);
        connections_.opened(out, fabric_.nic_towards(to, from), label, 0, path);
        return path.links;
    };
    for (const ExchangeMessage& message : messages.messages) {
        if (message.from == message.to) {
            loads.out_rows[message.from] += message.rows;
            loads.in_rows[message.to] += message.rows;
            loads.own_bytes[message.from] += message.bytes;
            continue;
        }
        const ExchangePaths::Pair pair = paths.between(message.from, message.to, [&](bool& inside) {
            return route(members[message.from], members[message.to], inside);
        });
        if (pair.inside) {
            loads.out_rows[message.from] += message.rows;
            loads.in_rows[message.to] += message.rows;
        } else {
            loads.network_bytes[message.from] += message.bytes;
            ++loads.network_messages[message.from];
        }
        loads.add(pair, paths.num_halves(), message.bytes);
    }
    loads.links = paths.bytes_of_links(loads.halves);
    loads.fullest_nvlink = fullest_nvlink(fabric_, paths, loads);
    const bool network = group.layout.num_nodes() > 1;
    const Dispatcher& dispatcher = *exchange.dispatcher;
    const CongestionFactor factor = factor_of(CollectiveKind::all_to_all,
                                              network && !group.layout.over_tcp(),
                                              moved_by_nccl(dispatcher) ? nullptr : &dispatcher);
    TransferPhase phase{
        .latency =
            exchange_latency(group, exchange, *std::ranges::max_element(loads.network_messages)) +
            factor.queueing_delay,
        .parts = {}};
    const double seconds = mover_seconds(group, exchange, loads);
    if (most(loads.links) > 0 || seconds > 0) {
        phase.parts.push_back(part_of(paths, loads.links, seconds, factor.efficiency));
    }
    return phase;
}

TransferPlan NcclNetwork::plan_exchange(const Exchange& exchange,
                                        std::span<const RankId> members) const {
    ORRERY_CHECK(exchange.dispatcher != nullptr && exchange.rows.ranks == members.size());
    const Dispatcher& dispatcher = *exchange.dispatcher;
    if (members.size() < 2) {
        return {};
    }
    if (dispatcher.route == DispatchRoute::everyone) {
        CollectiveCall call;
        call.kind = exchange.combine ? CollectiveKind::reduce_scatter : CollectiveKind::all_gather;
        call.bytes =
            Bytes(std::llround(exchange.rows.tokens * exchange.rows.ranks) * exchange.row.count());
        call.communicator = exchange.communicator;
        return plan(call, members);
    }
    const std::scoped_lock lock(mutex_);
    return plan_on(group_of(members), exchange, members);
}

TransferPlan NcclNetwork::plan_on(Group& group,
                                  const Exchange& exchange,
                                  std::span<const RankId> members) const {
    const Dispatcher& dispatcher = *exchange.dispatcher;
    const std::uint32_t of_server = exchange.rows.ranks / exchange.rows.servers;
    for (std::size_t i = 0; i < members.size(); ++i) {
        const std::size_t first = i / of_server * of_server;
        ORRERY_CHECK(fabric_.node_of(members[i]) == fabric_.node_of(members[first]));
    }
    TransferPlan out{.phases = {}, .algorithm = std::string(dispatcher.name)};
    // Connections that take the least loaded path, or that are numbered, are new for each exchange.
    const bool opens = connections_.adaptive() || connections_.numbered();
    ExchangePaths own(opens ? exchange.rows.ranks : 0);
    const auto key = std::pair{dispatcher.route == DispatchRoute::pairs, exchange.communicator};
    for (const ExchangePhase& messages : exchange_phases(exchange)) {
        ExchangePaths& paths =
            opens ? own : group.paths.try_emplace(key, exchange.rows.ranks).first->second;
        out.phases.push_back(phase_of(group, exchange, messages, paths, members));
        if (opens) {
            own = ExchangePaths(exchange.rows.ranks);
        }
    }
    const std::uint32_t sms = exchange.sm_limit > 0 ? exchange.sm_limit : dispatcher.sms;
    if (dispatcher.engine == TransferEngine::sm) {
        const std::uint32_t all = p2p_channels_of(group).all;
        out.protocol = dispatcher.sms == 0 ? "Simple" : "";
        out.channels = dispatcher.sms > 0 ? sms : sms == 0 ? all : std::min(all, sms);
    }
    set_mover(out, dispatcher.engine, group.num_sms);
    return out;
}

std::optional<TransferPlan> NcclNetwork::plan_rows(const CollectiveCall& call,
                                                   std::span<const RankId> members) const {
    const auto servers = equal_servers(fabric_, members);
    const Dispatcher* dispatcher = numbered_dispatcher(call.rows.dispatcher);
    const auto ranks = static_cast<std::uint32_t>(members.size());
    if (dispatcher == nullptr || !servers || dispatcher->route == DispatchRoute::everyone ||
        call.rows.experts % ranks != 0) {
        return std::nullopt;
    }
    const std::scoped_lock lock(mutex_);
    Group& group = group_of(members);
    const auto known = std::ranges::find(
        group.exchanges, call, [](const auto& entry) -> const auto& { return entry.first; });
    if (known != group.exchanges.end()) {
        return known->second;
    }
    const Exchange exchange{.dispatcher = dispatcher,
                            .combine = call.rows.combine,
                            .rows = rows_of_call(call.rows, *dispatcher, ranks, *servers),
                            .row = call.rows.row,
                            .communicator = call.communicator,
                            .sm_limit = call.mover.sm_limit};
    TransferPlan plan = plan_on(group, exchange, members);
    if (call.rows.shares.empty()) {  // with shares, the same call rarely comes again
        group.exchanges.emplace_back(call, plan);
    }
    return plan;
}

}  // namespace orrery
