// SPDX-License-Identifier: Apache-2.0
#include "network/packet/packet_engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/check.h"
#include "engine/base/prefetch.h"

namespace orrery::packet {

namespace {

Controller controller_of(const PacketParameters& p, const PathInfo& path) {
    switch (p.congestion) {
        case CongestionKind::none:
            return FixedWindow{p.window.count() > 0 ? p.window.count() : kUnlimited};
        case CongestionKind::credits:
            return FixedWindow{kUnlimited};
        case CongestionKind::nscc:
            return Nscc{p.nscc, path};
        case CongestionKind::uec_dctcp:
            return UecDctcp{path};
        case CongestionKind::dcqcn:
            return Dcqcn{p.dcqcn, path};
        case CongestionKind::dctcp:
            return Dctcp{p.dctcp, path};
        case CongestionKind::swift:
            return Swift{p.swift, path};
        case CongestionKind::hpcc:
            return Hpcc{p.hpcc, path};
        case CongestionKind::megascale:
            break;
    }
    return MegaScale{p.megascale, path};
}

constexpr std::size_t kPrefetchAhead = 3;

std::uint32_t scaled(Bytes bytes, double share) {
    return static_cast<std::uint32_t>(
        std::min(static_cast<double>(bytes.count()) * share + 0.5, 4e9));
}

}  // namespace

PacketEngine::PacketEngine(const Topology& topology, const PacketParameters& parameters)
    : topology_(topology),
      parameters_(parameters),
      ports_(topology.num_ports()),
      switches_(topology.num_switches()),
      nics_(topology.num_hosts()),
      selective_(parameters.recovery == RecoveryKind::selective),
      credits_(parameters.congestion == CongestionKind::credits),
      find_gaps_(selective_ && !parameters.trimming),
      mark_key_(draw_key(parameters.seed, DrawPurpose::mark)),
      trim_key_(draw_key(parameters.seed, DrawPurpose::trim)),
      path_info_{.line_rate = topology.shape().host_rate,
                 .base_rtt = parameters.base_rtt,
                 .packet_bytes = parameters.packet_bytes,
                 .header_bytes = parameters.header_bytes,
                 .trimming = parameters.trimming} {
    stamps_on_ = parameters_.congestion == CongestionKind::hpcc;
    const auto host_rate = static_cast<double>(topology_.shape().host_rate.bits_per_second());
    for (std::uint32_t id = 0; id < ports_.size(); ++id) {
        const PortInfo& info = topology_.port(id);
        Port& port = ports_[id];
        port.to = info.to;
        // A packet is marked when it has left, so that it must not arrive at that very instant.
        port.latency = std::max<std::int64_t>(info.latency.picoseconds(), 1);
        const double share = static_cast<double>(info.rate.bits_per_second()) / host_rate;
        port.queue_limit = topology_.is_host(info.from) ? 0 : scaled(parameters_.queue, share);
        const bool last_hop = topology_.is_host(info.to);
        if (parameters_.ecn.on && (parameters_.ecn.last_hop || !last_hop)) {
            port.kmin = scaled(parameters_.ecn.kmin, share);
            port.kmax = scaled(parameters_.ecn.kmax, share);
        }
        apply_rate(id, info.rate);
        if (port.dead) {
            port.known_dead = true;
            ++num_known_dead_;
        }
    }
    const std::uint64_t salts = draw_key(parameters_.seed, DrawPurpose::hash_salt);
    for (std::uint32_t i = 0; i < switches_.size(); ++i) {
        switches_[i].salt = draw(salts, i, 0);
    }
    init_flow_control();
}

std::uint32_t PacketEngine::add_flow(const FlowSpec& spec) {
    const auto id = static_cast<std::uint32_t>(flows_.size());
    const std::int64_t payload = parameters_.packet_bytes - parameters_.header_bytes;
    const std::int64_t packets = (spec.bytes.count() + payload - 1) / payload;
    const std::int64_t rest = spec.bytes.count() - (packets - 1) * payload;
    const std::uint64_t mixed = mix64(mix64(parameters_.seed + id + 1) + spec.label);
    flows_.push_back(Flow{
        .source = spec.source,
        .destination = spec.destination,
        .num_packets = static_cast<std::uint32_t>(packets),
        .last_bytes = parameters_.full_last_packet
                          ? parameters_.packet_bytes
                          : static_cast<std::uint32_t>(rest) + parameters_.header_bytes,
        .hash = static_cast<std::uint32_t>(mixed >> 32),
        .payload = spec.bytes.count(),
        .selector = {parameters_.spray,
                     parameters_.num_paths,
                     draw_key(parameters_.seed, DrawPurpose::path),
                     id},
        .controller = controller_of(parameters_, path_info_),
    });
    Flow& flow = flows_.back();
    flow.result.start = spec.start;
    if (!spec.path.empty()) {
        flow.path = static_cast<std::uint32_t>(paths_.size());
        flow.path_length = static_cast<std::uint32_t>(spec.path.size());
        paths_.insert(paths_.end(), spec.path.begin(), spec.path.end());
    }
    ++num_unfinished_;
    schedule(spec.start.picoseconds(), id, Action::flow_start);
    return id;
}

void PacketEngine::set_rate(std::int64_t at, std::uint32_t port, Bandwidth rate) {
    changes_.push_back({port, rate});
    schedule(at, static_cast<std::uint32_t>(changes_.size() - 1), Action::change_rate);
}

void PacketEngine::set_host_paused(std::int64_t at, std::uint32_t host, bool paused) {
    schedule(
        at, Topology::reverse(topology_.host_port(host)), paused ? Action::pause : Action::resume);
}

void PacketEngine::handle(const WheelEvent& event) {
    switch (static_cast<Action>(event.action)) {
        case Action::arrive:
            return arrive(event.target);
        case Action::release:
            return release(event.target);
        case Action::flow_start:
            return start_flow(event.target);
        case Action::pace:
            return pace(event.target);
        case Action::controller_timer:
            return controller_timer(event.target);
        case Action::retransmit_timer:
            return retransmit_timer(event.target);
        case Action::give_credit:
            return give_credit(event.target);
        case Action::pause:
            return set_paused(event.target, true);
        case Action::resume:
            return set_paused(event.target, false);
        case Action::change_rate:
            return change_rate(event.target);
        case Action::know_change:
            return know_change(event.target);
    }
}

// Switches choose by the state that they know: the port's state when they learn of a change.
void PacketEngine::know_change(std::uint32_t change) {
    Port& port = ports_[changes_[change].port];
    if (port.known_dead != port.dead) {
        port.known_dead = port.dead;
        num_known_dead_ += port.dead ? 1U : 0U - 1U;
    }
}

// Prefetches the data that an event will use.
void PacketEngine::prefetch(const WheelEvent& event) {
    if (event.action == static_cast<std::uint32_t>(Action::arrive)) {
        prefetch_line(&packets_[event.target]);
    } else if (event.action == static_cast<std::uint32_t>(Action::release)) {
        prefetch_line(&ports_[event.target]);
    }
}

void PacketEngine::run_until(std::int64_t limit, std::vector<std::uint32_t>* ended) {
    ended_ = ended;
    limit = std::min(limit, parameters_.time_max.picoseconds());
    while (num_unfinished_ > 0 && totals_.events < events_most_ &&
           (ended == nullptr || ended->empty())) {
        if (events_.empty() || events_.next_time() > limit) {
            break;
        }
        const WheelEvent event = events_.pop();
        if (const WheelEvent* soon = events_.peek(kPrefetchAhead)) {
            prefetch(*soon);
        }
        now_ = event.time;
        ++totals_.events;
        handle(event);
    }
    if (ended == nullptr || ended->empty()) {
        if (num_unfinished_ > 0 && limit < Time::max().picoseconds()) {
            now_ = std::max(now_, limit);
        }
    }
    ended_ = nullptr;
}

bool PacketEngine::run_events(std::uint64_t most) {
    events_most_ = totals_.events + most;
    run_until(Time::max().picoseconds(), nullptr);
    const bool more = totals_.events == events_most_;
    events_most_ = std::numeric_limits<std::uint64_t>::max();
    return more;
}

Totals PacketEngine::totals() const {
    Totals totals = totals_;
    totals.packets_live = packets_.live();
    return totals;
}

PortStatistics PacketEngine::statistics(std::uint32_t id) const {
    const Port& port = ports_[id];
    const std::int64_t since = std::max<std::int64_t>(first_start_, 0);
    const auto span = static_cast<double>(now_ - since);
    const double area = port.queue_area + static_cast<double>(port.queued[kDataClass]) *
                                              static_cast<double>(now_ - port.queue_since);
    PortStatistics s{.bytes = port.bytes,
                     .packets = port.packets,
                     .marked = port.marked,
                     .trimmed = port.trimmed,
                     .dropped = port.dropped,
                     .lost = port.lost,
                     .pauses = port.pauses,
                     .paused = Time::picoseconds(port.paused_time +
                                                 (port.paused ? now_ - port.paused_since : 0)),
                     .queue_max = port.queue_max};
    if (span > 0) {
        const auto rate = static_cast<double>(topology_.port(id).rate.bits_per_second());
        s.queue_mean = area / span;
        s.utilisation = rate > 0 ? static_cast<double>(port.bytes) * 8e12 / (span * rate) : 0;
    }
    return s;
}

std::int64_t PacketEngine::queue_bytes(std::uint32_t port) const {
    return ports_[port].queued[kDataClass];
}

// Follows the flow's path from its source to the first port that is dead or paused.
std::string PacketEngine::wait_of(std::uint32_t id) const {
    const Flow& flow = flows_[id];
    const char* verb = flow.state == FlowState::failed ? "gave up" : "waits";
    std::string why = "no answer comes";
    Packet packet;
    packet.flow = id;
    packet.destination = flow.destination;
    packet.hop = 1;
    std::uint32_t port = topology_.host_port(flow.source);
    for (int hops = 0; hops < 8; ++hops, ++packet.hop) {
        if (ports_[port].dead || ports_[port].paused) {
            why = fmt::format(
                "{} is {}", topology_.port_name(port), ports_[port].dead ? "dead" : "paused");
            break;
        }
        if (topology_.is_host(ports_[port].to)) {
            break;
        }
        port = egress_of(packet, ports_[port].to);
    }
    return fmt::format(
        "flow {} (host {} to host {}) {} at {:.1f} us with {} of {} bytes delivered, "
        "after {} timeouts: {}",
        id,
        flow.source,
        flow.destination,
        verb,
        static_cast<double>(flow.state == FlowState::failed ? flow.result.end.picoseconds()
                                                            : now_) *
            1e-6,
        flow.result.bytes_received,
        flow.payload,
        flow.result.timeouts,
        why);
}

}  // namespace orrery::packet
