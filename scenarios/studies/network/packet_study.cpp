// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/network/packet_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "engine/base/check.h"
#include "network/collectives/channel_router.h"
#include "network/fabric/nic_name.h"
#include "scenarios/studies/network/flow_study.h"
#include "scenarios/studies/network/link_events.h"
#include "scenarios/studies/network/packet_parts.h"

namespace orrery {
namespace {

constexpr std::uint32_t kNoLink = ~0U;
constexpr std::int64_t kSamples = 400;
constexpr std::size_t kPortsTraced = 16;
constexpr std::size_t kPacketTracksMax = 1'024;
constexpr std::size_t kMessagesMax = 4'000'000;  // about 5 GiB

void name_all(std::vector<NicMessage>& messages) {
    for (NicMessage& m : messages) {
        m.name = fmt::format(
            "node {} nic {} -> node {} nic {}", m.from.node, m.from.nic, m.to.node, m.to.nic);
    }
}

}  // namespace

std::vector<NicMessage> messages_of_transfer(const NcclNetwork& network,
                                             const TransferCall& call,
                                             std::span<const RankId> members) {
    const std::size_t first = network.fabric().links().size();
    std::map<std::size_t, Bytes> bytes;  // by connection
    for (const TransferPhase& phase : network.plan(call, members).phases) {
        for (const TransferPart& part : phase.parts) {
            for (const LinkShare& share : part.footprint) {
                if (index(share.link) >= first) {
                    bytes[index(share.link) - first] += part.bytes * std::int64_t{share.count};
                }
            }
        }
    }
    std::vector<NicMessage> messages;
    for (const auto& [number, sent] : bytes) {
        const NicConnection& connection = network.connections()[number];
        messages.push_back({.from = connection.from,
                            .to = connection.to,
                            .bytes = sent,
                            .label = connection.label,
                            .queue_pair = connection.queue_pair,
                            .links = connection.links});
    }
    name_all(messages);
    return messages;
}

std::vector<NicMessage> messages_of_pairs(const Fabric& fabric,
                                          const std::vector<RankPair>& pairs,
                                          Bytes bytes) {
    std::vector<NicMessage> messages;
    for (const RankPair& pair : pairs) {
        if (fabric.node_of(pair.from) != fabric.node_of(pair.to)) {
            const std::uint64_t label = flow_label(pair.from, pair.to, 0, 0);
            messages.push_back({.from = fabric.nic_of(pair.from),
                                .to = fabric.nic_of(pair.to),
                                .bytes = bytes,
                                .label = label});
        }
    }
    name_all(messages);
    return messages;
}

PacketStudy::PacketStudy(Fabric fabric, packet::Topology topology)
    : fabric_(std::make_unique<Fabric>(std::move(fabric))),
      topology_(std::move(topology)),
      link_of_port_(topology_.num_ports(), kNoLink) {
    for (std::size_t link = 0; link < fabric_->links().size(); ++link) {
        const std::uint32_t port = topology_.port_of(to_id<LinkId>(link));
        if (port < link_of_port_.size()) {
            link_of_port_[port] = static_cast<std::uint32_t>(link);
        }
    }
}

Result<PacketStudy> PacketStudy::make(const ClusterSpec& cluster, const NetworkSettings& settings) {
    auto parts = packet_parts(cluster, settings);
    if (!parts) {
        return unexpected<Error>(parts.error());
    }
    PacketStudy study{std::move(parts->fabric), std::move(parts->topology)};
    study.parameters_ = parts->parameters;
    const packet::PacketParameters& p = study.parameters_;
    if (p.spray == packet::SprayKind::single) {
        study.queue_pairs_ = study.fabric_->queue_pairs_apart();
    }
    if (const auto taken = study.take_events(settings); !taken) {
        return unexpected<Error>(taken.error());
    }
    if (auto checked = packet::Simulation::create(study.topology_, p); !checked) {
        return unexpected<Error>(at_packets(checked.error(), settings));
    }
    return study;
}

Result<void> PacketStudy::take_events(const NetworkSettings& settings) {
    std::vector<LinkEvent> of_links;
    for (const LinkEvent& event : settings.events) {
        if (event.nic.empty()) {
            of_links.push_back(event);
            continue;
        }
        const auto nic = nic_of_name(event.nic);
        const ClusterSpec& cluster = fabric_->spec();
        if (!nic || nic->node >= cluster.num_nodes || nic->nic >= cluster.fabric.nics_per_node) {
            return fail(event.where,
                        fmt::format("the fabric has no NIC '{}'", event.nic),
                        "a NIC is named like 'node 0 nic 0'");
        }
        pauses_.push_back({event.at, topology_.host_of(*nic), !event.restores});
    }
    const auto changes = link_changes(*fabric_, of_links);
    if (!changes) {
        return unexpected<Error>(changes.error());
    }
    for (const LinkChange& change : *changes) {
        const std::uint32_t port = topology_.port_of(change.link);
        if (port >= topology_.num_ports()) {
            return fail(settings.events.front().where,
                        fmt::format("'{}' carries no packets", fabric_->link_name(change.link)),
                        "a link between NICs and switches");
        }
        const Bandwidth own = fabric_->links()[index(change.link)].capacity;
        // Capacities are usable shares, and the packet model has raw rates: the change applies as a
        // share.
        const double share = static_cast<double>(change.capacity.bits_per_second()) /
                             static_cast<double>(own.bits_per_second());
        const auto raw = static_cast<double>(topology_.port(port).rate.bits_per_second());
        changes_.push_back(
            {change.at,
             port,
             Bandwidth::bits_per_second(static_cast<std::int64_t>(raw * share + 0.5))});
    }
    if (!changes_.empty()) {
        parameters_.reroute_after = settings.convergence;
    }
    return {};
}

std::vector<std::uint32_t> PacketStudy::path_of(const NicMessage& message,
                                                std::uint32_t queue_pair,
                                                std::vector<std::uint32_t>& load) const {
    const bool single = parameters_.spray == packet::SprayKind::single;
    if (!single || !changes_.empty()) {
        return {};  // the path to which the switches hash it
    }
    std::vector<std::uint32_t> ports;
    if (message.queue_pair) {
        for (const LinkId link : message.links) {
            if (const std::uint32_t port = topology_.port_of(link); port < topology_.num_ports()) {
                ports.push_back(port);
            }
        }
        return ports;
    }
    Path path;
    const bool adaptive = fabric_->spec().fabric.routing == RoutingKind::adaptive;
    const LinkState state = adaptive ? LinkState{.down = {}, .load = load} : LinkState{};
    fabric_->route_nics(message.from, message.to, message.label, path, queue_pair, state);
    for (const LinkId link : path.links) {
        ++load[index(link)];
        ports.push_back(topology_.port_of(link));
    }
    return ports;
}

Result<packet::Simulation> PacketStudy::simulation(const std::vector<NicMessage>& messages) const {
    auto simulation = packet::Simulation::create(topology_, parameters_);
    if (!simulation) {
        return simulation;
    }
    std::vector<std::uint32_t> load(fabric_->links().size(), 0);
    for (const NicMessage& message : messages) {
        const std::uint32_t flows = flows_of(message);
        for (std::uint32_t q = 0; q < flows; ++q) {
            const auto added = simulation->add_flow(
                {.source = topology_.host_of(message.from),
                 .destination = topology_.host_of(message.to),
                 .bytes = share_of_queue_pair(message.bytes, q, flows),
                 .start = Time{},
                 .path = path_of(message, q, load),
                 .label = static_cast<std::uint32_t>(message.label ^ message.label >> 32U) +
                          message.queue_pair.value_or(0)});
            if (!added) {
                return unexpected<Error>(added.error());
            }
        }
    }
    for (const PortChange& change : changes_) {
        simulation->set_rate(change.at, change.port, change.rate);
    }
    for (const HostPause& pause : pauses_) {
        simulation->set_host_paused(pause.at, pause.host, pause.paused);
    }
    return simulation;
}

Time PacketStudy::unloaded(const NicMessage& message) const {
    auto alone = packet::Simulation::create(topology_, parameters_);
    ORRERY_CHECK(alone.has_value());
    const auto added = alone->add_flow({.source = topology_.host_of(message.from),
                                        .destination = topology_.host_of(message.to),
                                        .bytes = message.bytes,
                                        .start = Time{}});
    ORRERY_CHECK(added.has_value());
    alone->run();
    return alone->flow(*added).delivered;
}

PacketRun PacketStudy::results(const packet::Simulation& simulation,
                               const std::vector<NicMessage>& messages) const {
    PacketRun run;
    std::map<std::pair<std::size_t, std::int64_t>, Time> alone;  // by hops and bytes
    std::uint32_t next_flow = 0;
    for (std::uint32_t m = 0; m < messages.size(); ++m) {
        Path path;
        fabric_->route_nics(messages[m].from, messages[m].to, 0, path);
        Time& time = alone[{path.links.size(), messages[m].bytes.count()}];
        time = time == Time{} ? unloaded(messages[m]) : time;
        FlowTime message{.time = {}, .unloaded = time, .stalled = {}};
        for (std::uint32_t q = 0; q < flows_of(messages[m]); ++q) {
            const packet::FlowResult flow = simulation.flow(next_flow++);
            const bool finished = flow.state == packet::FlowState::finished;
            const Time end = finished ? flow.delivered : std::max(flow.end, simulation.now());
            message.time = std::max(message.time, end - flow.start);
            message.finished = message.finished && finished;
        }
        run.flows.push_back(message);
        run.end = std::max(run.end, message.time);
        run.finished = run.finished && message.finished;
    }
    const packet::Totals totals = simulation.totals();
    run.counts.packets = totals.data_packets;
    run.counts.repeated = totals.repeated;
    run.counts.marked = totals.marked;
    run.counts.trimmed = totals.trimmed;
    run.counts.dropped = totals.dropped + totals.lost;
    run.counts.pauses = totals.pauses;
    run.counts.events = totals.events;
    run.link_bytes.assign(fabric_->links().size(), 0);
    for (std::uint32_t port = 0; port < topology_.num_ports(); ++port) {
        const packet::PortStatistics use = simulation.port(port);
        run.counts.paused_max = std::max(run.counts.paused_max, use.paused);
        if (Bytes{use.queue_max} > run.counts.queue_max &&
            !topology_.is_host(topology_.port(port).from)) {
            run.counts.queue_max = Bytes{use.queue_max};
            run.counts.queue_at = link_of_port_[port] == kNoLink
                                      ? topology_.port_name(port)
                                      : fabric_->link_name(to_id<LinkId>(link_of_port_[port]));
        }
        if (link_of_port_[port] != kNoLink) {
            run.link_bytes[link_of_port_[port]] = static_cast<std::int64_t>(
                static_cast<double>(use.bytes) * fabric_->spec().fabric.efficiency);
        }
    }
    if (!run.finished) {
        run.waits = simulation.waits();
    }
    return run;
}

// Runs again and samples the fullest queues and the progress of every message.
Result<void> PacketStudy::draw(const std::vector<NicMessage>& messages,
                               const packet::Simulation& done,
                               NetworkTrace& trace) const {
    std::vector<std::uint32_t> ports(topology_.num_ports());
    std::iota(ports.begin(), ports.end(), 0U);
    const std::size_t count = std::min(kPortsTraced, ports.size());
    std::partial_sort(ports.begin(),
                      ports.begin() + static_cast<std::ptrdiff_t>(count),
                      ports.end(),
                      [&](std::uint32_t a, std::uint32_t b) {
                          const auto left = done.port(a).queue_max;
                          const auto right = done.port(b).queue_max;
                          return left != right ? left > right : a < b;
                      });
    ports.resize(count);
    auto again = simulation(messages);
    if (!again) {
        return unexpected<Error>(again.error());
    }
    for (const std::uint32_t port : ports) {
        const std::string name = link_of_port_[port] == kNoLink
                                     ? topology_.port_name(port)
                                     : fabric_->link_name(to_id<LinkId>(link_of_port_[port]));
        trace.counters.push_back({.name = name + " queue (B)", .values = {}});
        trace.counters.push_back({.name = name + " load (%)", .values = {}});
    }
    const std::size_t tracks = std::min(messages.size(), kPacketTracksMax);
    for (std::size_t i = 0; i < tracks; ++i) {
        trace.tracks.push_back({.name = messages[i].name, .slices = {}});
    }
    const Time step =
        Time::picoseconds(std::max<std::int64_t>(1, done.now().picoseconds() / kSamples));
    std::vector<std::int64_t> sent(count, 0);
    std::vector<std::int64_t> received(tracks, 0);
    std::vector<std::uint32_t> ended;
    for (Time at = step; at < done.now() + step; at += step) {
        while (again->now() < at && again->run_until(at, ended)) {
        }
        for (std::size_t i = 0; i < count; ++i) {
            const std::int64_t bytes = again->port(ports[i]).bytes;
            const double possible =
                step.seconds() / 8 *
                static_cast<double>(topology_.port(ports[i]).rate.bits_per_second());
            trace.counters[2 * i].values.emplace_back(
                at, static_cast<double>(again->queue_bytes(ports[i])));
            trace.counters[2 * i + 1].values.emplace_back(
                at - step, 100 * static_cast<double>(bytes - sent[i]) / possible);
            sent[i] = bytes;
        }
        for (std::uint32_t i = 0, next_flow = 0; i < tracks; ++i) {
            std::int64_t bytes = 0;
            bool running = false;
            for (std::uint32_t q = 0; q < flows_of(messages[i]); ++q) {
                const packet::FlowResult flow = again->flow(next_flow++);
                bytes += flow.bytes_received;
                running = running || flow.state == packet::FlowState::running;
            }
            const double rate = static_cast<double>(bytes - received[i]) * 1e-9 / step.seconds();
            received[i] = bytes;
            auto& slices = trace.tracks[i].slices;
            const std::string name = rate > 0 ? fmt::format("{:.2g} GB/s", rate) : "stalled";
            if (!slices.empty() && slices.back().name == name && slices.back().end == at - step) {
                slices.back().end = at;
            } else if (rate > 0 || running) {
                slices.push_back({.name = name, .begin = at - step, .end = at});
            }
        }
    }
    return {};
}

Result<PacketRun> PacketStudy::run(const std::vector<NicMessage>& messages,
                                   NetworkTrace* trace,
                                   const std::function<void(double)>& progress) const {
    if (messages.size() > kMessagesMax) {
        return fail(
            "--fidelity",
            fmt::format("{} messages at once are more than packets can follow", messages.size()),
            fmt::format("at most {}: fewer --ranks, or --fidelity fluid", kMessagesMax));
    }
    auto first = simulation(messages);
    if (!first) {
        return unexpected<Error>(first.error());
    }
    std::int64_t bytes = 0;
    for (const NicMessage& message : messages) {
        bytes += message.bytes.count();
    }
    const double all = static_cast<double>(std::max<std::int64_t>(bytes, 1));
    first->run([&](std::int64_t received) {
        if (progress) {
            progress(static_cast<double>(received) / all);
        }
    });
    PacketRun run = results(*first, messages);
    if (trace != nullptr) {
        if (const auto drawn = draw(messages, *first, *trace); !drawn) {
            return unexpected<Error>(drawn.error());
        }
    }
    return run;
}

}  // namespace orrery
