// SPDX-License-Identifier: Apache-2.0
// Ports, their queues, and the handling of packets on their way.
#include <algorithm>

#include "engine/base/check.h"
#include "engine/base/prefetch.h"
#include "network/packet/packet_engine.h"

namespace orrery::packet {

namespace {

std::uint8_t class_of(const Packet& packet) {
    return packet.has(packet_flag::kControl) ? kControlClass : kDataClass;
}

std::int64_t service_time(const Port& port, std::uint32_t bytes) {
    constexpr std::uint64_t kRoundUp = (std::uint64_t{1} << kByteTimeShift) - 1;
    return static_cast<std::int64_t>((bytes * port.byte_time + kRoundUp) >> kByteTimeShift);
}

// A hash for which Topology::next_port() takes choice `i` of `choices`.
std::uint32_t hash_of_choice(std::uint32_t i, std::uint32_t choices) {
    return static_cast<std::uint32_t>(((std::uint64_t{i} << 32) + (1U << 31)) / choices);
}

}  // namespace

void PacketEngine::arrive(std::uint32_t id) {
    Packet& packet = packets_[id];
    const std::uint32_t node = ports_[packet.port].to;
    if (node >= nics_.size()) {
        packet.ingress = packet.port;
        enqueue(egress_of(packet, node), id);
        return;
    }
    switch (packet.kind) {
        case PacketKind::data:
        case PacketKind::request:
            on_data(id);
            return;
        case PacketKind::ack:
            on_ack(id);
            return;
        case PacketKind::nack:
            on_nack(id);
            return;
        case PacketKind::credit:
            on_credit(packet);
            packets_.give_back(id);
            return;
    }
}

std::uint32_t PacketEngine::egress_of(const Packet& packet, std::uint32_t node) const {
    const Flow& flow = flows_[packet.flow];
    if (flow.path != kNone) {
        const bool forward = packet.destination == flow.destination;
        return forward ? paths_[flow.path + packet.hop]
                       : Topology::reverse(paths_[flow.path + flow.path_length - 1 - packet.hop]);
    }
    const std::uint32_t salt = switches_[node - nics_.size()].salt;
    std::uint64_t hash = std::uint64_t{flow.hash ^ salt} << 32 | packet.entropy;
    const bool forward = packet.destination == flow.destination;
    hash = mix64(hash + (forward ? 0 : 0x9e3779b97f4a7c15));
    const auto choice = static_cast<std::uint32_t>(hash >> 32);
    if (num_known_dead_ > 0) [[unlikely]] {
        return live_egress(packet, node, choice);
    }
    return topology_.next_port(node, packet.destination, choice);
}

// Tries the choice of the hash, then the following ports in turn, for one that reaches the
// destination.
std::uint32_t PacketEngine::live_egress(const Packet& packet,
                                        std::uint32_t node,
                                        std::uint32_t hash) const {
    const std::uint32_t choices = topology_.num_choices(node, packet.destination);
    const std::uint32_t chosen = topology_.next_port(node, packet.destination, hash);
    const auto first = static_cast<std::uint32_t>(std::uint64_t{hash} * choices >> 32);
    for (std::uint32_t i = 0; i < choices; ++i) {
        const std::uint32_t other = hash_of_choice((first + i) % choices, choices);
        const std::uint32_t port = topology_.next_port(node, packet.destination, other);
        if (reaches(port, packet.destination)) {
            return port;
        }
    }
    return chosen;
}

bool PacketEngine::reaches(std::uint32_t port, std::uint32_t destination) const {
    if (ports_[port].known_dead) {
        return false;
    }
    const std::uint32_t node = ports_[port].to;
    if (node == destination) {
        return true;
    }
    const std::uint32_t choices = topology_.num_choices(node, destination);
    for (std::uint32_t i = 0; i < choices; ++i) {
        const std::uint32_t hash = hash_of_choice(i, choices);
        if (reaches(topology_.next_port(node, destination, hash), destination)) {
            return true;
        }
    }
    return false;
}

void PacketEngine::enqueue(std::uint32_t port_id, std::uint32_t id) {
    Port& port = ports_[port_id];
    Packet& packet = packets_[id];
    if (port.dead) [[unlikely]] {
        ++port.lost;
        ++totals_.lost;
        packets_.give_back(id);
        return;
    }
    const std::uint8_t queue_class = class_of(packet);
    if (has_pfc_ && queue_class == kDataClass && !admit(packet)) {
        drop(port_id, id);
        return;
    }
    if (is_idle(port) && port.head[queue_class] == kNone &&
        (queue_class == kControlClass || !port.paused)) {
        transmit(port_id, id);
        return;
    }
    if (queue_class == kDataClass && !make_room(port_id, id)) {
        return;
    }
    if (queue_class == kControlClass && port.queue_limit > 0 &&
        port.queued[kControlClass] + packet.bytes > 2 * port.queue_limit) {
        drop(port_id, id);
        return;
    }
    append(port_id, id, class_of(packets_[id]));
}

// False if `id` was dropped. Otherwise `id` goes to the queue of its class; it is trimmed if it was
// chosen to make room.
bool PacketEngine::make_room(std::uint32_t port_id, std::uint32_t& id) {
    Port& port = ports_[port_id];
    const std::uint32_t needed =
        port.queued[kDataClass] + port.in_service_data + packets_[id].bytes;
    const bool fits = port.queue_limit == 0 || needed <= port.queue_limit;
    if (fits || packets_[id].kind != PacketKind::data) {  // an ACK has no payload to trim
        return true;
    }
    if (!parameters_.trimming) {
        drop(port_id, id);
        return false;
    }
    // A random choice between the new packet and the last queued one prevents synchronised senders
    // (NDP, Handley et al., SIGCOMM 2017).
    const std::uint32_t last = port.tail[kDataClass];
    const bool has_data = last != kNone && packets_[last].kind == PacketKind::data;
    if (has_data && (draw(trim_key_, port_id, port.num_draws++) & 1) != 0) {
        note_queue(port);
        const bool alone = port.head[kDataClass] == last;
        const std::uint32_t before = alone ? kNone : packets_[last].previous;
        port.tail[kDataClass] = before;
        (before == kNone ? port.head[kDataClass] : packets_[before].next) = kNone;
        port.queued[kDataClass] -= packets_[last].bytes;
        append(port_id, id, kDataClass);
        id = last;
    }
    trim(port_id, id);
    if (port.queued[kControlClass] + packets_[id].bytes > 2 * port.queue_limit) {
        drop(port_id, id);
        return false;
    }
    return true;
}

void PacketEngine::trim(std::uint32_t port_id, std::uint32_t id) {
    Packet& packet = packets_[id];
    Port& port = ports_[port_id];
    packet.bytes = static_cast<std::uint16_t>(parameters_.header_bytes);
    packet.flags |= packet_flag::kTrimmed | packet_flag::kControl;
    if (port.to < nics_.size()) {
        packet.flags |= packet_flag::kTrimmedAtLastHop;
    }
    ++port.trimmed;
    ++totals_.trimmed;
}

void PacketEngine::drop(std::uint32_t port_id, std::uint32_t id) {
    ++ports_[port_id].dropped;
    ++totals_.dropped;
    packets_.give_back(id);
}

void PacketEngine::note_queue(Port& port) {
    const std::int64_t waiting = port.queued[kDataClass];
    port.queue_area += static_cast<double>(waiting) * static_cast<double>(now_ - port.queue_since);
    port.queue_since = now_;
}

void PacketEngine::append(std::uint32_t port_id, std::uint32_t id, std::uint8_t queue_class) {
    Port& port = ports_[port_id];
    Packet& packet = packets_[id];
    packet.next = kNone;
    packet.previous = port.tail[queue_class];
    if (port.tail[queue_class] == kNone) {
        port.head[queue_class] = id;
    } else {
        packets_[port.tail[queue_class]].next = id;
    }
    port.tail[queue_class] = id;
    if (queue_class == kDataClass) {
        note_queue(port);
    }
    port.queued[queue_class] += packet.bytes;
    if (queue_class == kDataClass) {
        port.queue_max = std::max(port.queue_max, port.queued[kDataClass] + port.in_service_data);
    }
    need_release(port_id);
}

void PacketEngine::need_release(std::uint32_t port_id) {
    Port& port = ports_[port_id];
    if (!port.release_pending && port.busy_until > now_) {
        port.release_pending = true;
        schedule(port.busy_until, port_id, Action::release);
    }
}

std::uint32_t PacketEngine::take_head(Port& port, std::uint8_t queue_class) {
    const std::uint32_t id = port.head[queue_class];
    Packet& packet = packets_[id];
    if (queue_class == kDataClass) {
        note_queue(port);
    }
    port.queued[queue_class] -= packet.bytes;
    port.head[queue_class] = packet.next;
    if (packet.next == kNone) {
        port.tail[queue_class] = kNone;
    } else {
        prefetch_line(&packets_[packet.next]);
    }
    return id;
}

// Starts the transmission. The port must be free.
void PacketEngine::transmit(std::uint32_t port_id, std::uint32_t id) {
    Port& port = ports_[port_id];
    Packet& packet = packets_[id];
    const std::uint32_t bytes = packet.bytes;
    port.busy_until = now_ + service_time(port, bytes);
    port.in_service = id;
    port.in_service_data = class_of(packet) == kDataClass ? bytes : 0;
    port.bytes += bytes;
    ++port.packets;
    packet.port = port_id;
    ++packet.hop;
    schedule(port.busy_until + port.latency, id, Action::arrive);
    if (stamps_on_ && packet.kind == PacketKind::data && !topology_.is_host_port(port_id)) {
        stamp(port_id, id);
    }
    const bool waiting = port.head[kControlClass] != kNone || port.head[kDataClass] != kNone;
    if (waiting || (has_pfc_ && port.in_service_data != 0 && packet.ingress != kNone)) {
        need_release(port_id);
    }
}

// The stamp has the switch's state when it emits the packet (Li et al., SIGCOMM 2019, section 3.1,
// and their simulator): the queue is the one behind the packet at that time. When the packet has
// left, the next packet of a fast flow is almost always behind it, so that the link would seem
// fuller than it is.
void PacketEngine::stamp(std::uint32_t port_id, std::uint32_t id) {
    if (stamps_.size() < packets_.capacity()) {
        stamps_.resize(std::max(packets_.capacity(), 2 * stamps_.size()));
    }
    const Port& port = ports_[port_id];
    Packet& packet = packets_[id];
    if (packet.num_stamps < kStampsMax) {
        stamps_[id][packet.num_stamps++] = {.time = now_,
                                            .sent = port.bytes - packet.bytes,
                                            .rate = topology_.port(port_id).rate.bits_per_second(),
                                            .queue = port.queued[kDataClass],
                                            .port = port_id};
    }
}

// Dequeue: the packet in service has left. If packets waited, every release of a port calls this.
void PacketEngine::finish_service(std::uint32_t port_id) {
    Port& port = ports_[port_id];
    const bool at_switch = !topology_.is_host_port(port_id);
    if (at_switch && port.in_service_data != 0) {
        // The packet is read only if there is something to write, because it is no longer in the
        // cache.
        if (wants_mark(port_id) && packets_[port.in_service].kind == PacketKind::data) {
            packets_[port.in_service].flags |= packet_flag::kMarked;
            ++port.marked;
            ++totals_.marked;
        }
        if (has_pfc_) {
            release_buffer(packets_[port.in_service].ingress, port.in_service_data);
        }
    }
    port.in_service = kNone;
    port.in_service_data = 0;
}

bool PacketEngine::wants_mark(std::uint32_t port_id) {
    Port& port = ports_[port_id];
    const std::uint32_t queue = port.queued[kDataClass];
    if (queue <= port.kmin || port.kmax == 0) {
        return false;
    }
    if (queue > port.kmax) {
        return true;
    }
    const double share =
        static_cast<double>(queue - port.kmin) / static_cast<double>(port.kmax - port.kmin);
    const double chance = parameters_.ecn.pmax * share * 4294967296.0;
    return static_cast<double>(draw(mark_key_, port_id, port.num_draws++)) < chance;
}

void PacketEngine::release(std::uint32_t port_id) {
    Port& port = ports_[port_id];
    port.release_pending = false;
    finish_service(port_id);
    serve(port_id);
}

void PacketEngine::serve(std::uint32_t port_id) {
    Port& port = ports_[port_id];
    if (topology_.is_host_port(port_id)) {
        serve_host(port_id / 2);
        return;
    }
    if (port.head[kControlClass] != kNone) {
        transmit(port_id, take_head(port, kControlClass));
    } else if (port.head[kDataClass] != kNone && !port.paused) {
        transmit(port_id, take_head(port, kDataClass));
    }
}

}  // namespace orrery::packet
