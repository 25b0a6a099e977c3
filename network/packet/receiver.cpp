// SPDX-License-Identifier: Apache-2.0
// The receiving end of a flow: arrivals, ACKs and NACKs.
#include <algorithm>

#include "engine/base/check.h"
#include "network/packet/packet_engine.h"

namespace orrery::packet {

void PacketEngine::on_data(std::uint32_t id) {
    const Packet packet = packets_[id];
    if (packet.kind == PacketKind::request) {
        want_credit(packet.flow, packet.bytes_total);
        packets_.give_back(id);
        return;
    }
    if (packet.has(packet_flag::kTrimmed)) {
        packets_.give_back(id);
        on_trimmed(packet);
        return;
    }
    if (parameters_.spray == SprayKind::single && !packet.has(packet_flag::kRetransmitted)) {
        ReceiverState& receiver = flows_[packet.flow].receiver;
        totals_.out_of_path_order += packet.sequence < receiver.highest ? 1 : 0;
        receiver.highest = std::max(receiver.highest, packet.sequence);
    }
    if (credits_) {
        want_credit(packet.flow, packet.bytes_total);
    }
    if (selective_) {
        on_data_any_order(id);
    } else {
        on_data_in_order(id);
    }
    packets_.give_back(id);
}

void PacketEngine::on_trimmed(const Packet& packet) {
    Flow& flow = flows_[packet.flow];
    ReceiverState& receiver = flow.receiver;
    if (packet.sequence < receiver.expected ||
        receiver.packets.has(receiver.expected, packet.sequence)) {
        send_ack(packet, kNone, false);
        return;
    }
    send_nack(packet, packet.sequence);
    if (credits_) {  // the packet will be sent again
        want_credit(
            packet.flow,
            std::max(packet.bytes_total, receiver.wanted) + packet_bytes(flow, packet.sequence));
    }
}

// Records the arrival. True if `packet` is new.
bool PacketEngine::accept(Flow& flow, const Packet& packet) {
    ReceiverState& receiver = flow.receiver;
    if (packet.sequence < receiver.expected ||
        receiver.packets.has(receiver.expected, packet.sequence)) {
        return false;
    }
    receiver.received += packet.bytes;
    const std::uint32_t payload = parameters_.packet_bytes - parameters_.header_bytes;
    const std::int64_t begin = std::int64_t{packet.sequence} * payload;
    flow.result.bytes_received += std::min<std::int64_t>(flow.payload - begin, payload);
    if (packet.sequence != receiver.expected) {
        receiver.packets.add(receiver.expected, packet.sequence);
        ++receiver.out_of_order;
    } else {
        ++receiver.expected;
        while (receiver.out_of_order > 0 &&
               receiver.packets.has(receiver.expected, receiver.expected)) {
            receiver.packets.remove(receiver.expected);
            ++receiver.expected;
            --receiver.out_of_order;
        }
    }
    if (receiver.expected == flow.num_packets) {
        flow.result.delivered = Time::picoseconds(now_);
    }
    return true;
}

void PacketEngine::on_data_any_order(std::uint32_t id) {
    const Packet packet = packets_[id];
    Flow& flow = flows_[packet.flow];
    ReceiverState& receiver = flow.receiver;
    const bool marked = packet.has(packet_flag::kMarked);
    receiver.since_ack += packet.bytes;
    bool at_once = marked || receiver.received == 0;
    if (!accept(flow, packet)) {
        send_ack(packet, id, marked);
        return;
    }
    if (packet.has(packet_flag::kAckRequested)) {
        at_once = true;
        receiver.ack_wanted = true;
    }
    if (receiver.out_of_order == 0 && receiver.ack_wanted) {
        at_once = true;
        receiver.ack_wanted = false;
    }
    if (at_once || receiver.since_ack >= parameters_.ack_every_bytes) {
        send_ack(packet, id, marked);
    }
}

// Go-back-N: drops packets out of order and requests the next one, but not more often than the NACK
// interval.
void PacketEngine::on_data_in_order(std::uint32_t id) {
    const Packet packet = packets_[id];
    Flow& flow = flows_[packet.flow];
    ReceiverState& receiver = flow.receiver;
    if (packet.sequence > receiver.expected) {
        const bool asked = receiver.nacked == receiver.expected &&
                           now_ - receiver.nacked_at < parameters_.nack_interval.picoseconds();
        if (!asked) {
            receiver.nacked = receiver.expected;
            receiver.nacked_at = now_;
            send_nack(packet, packet.sequence);
        }
        return;
    }
    const bool marked = packet.has(packet_flag::kMarked);
    receiver.since_ack += packet.bytes;
    const bool is_new = accept(flow, packet);
    if (!is_new || marked || packet.has(packet_flag::kAckRequested) ||
        receiver.since_ack >= parameters_.ack_every_bytes) {
        send_ack(packet, id, marked);
    }
}

// `data_id` is the packet whose telemetry is returned; kNone: none.
void PacketEngine::send_ack(const Packet& data, std::uint32_t data_id, bool marked) {
    Flow& flow = flows_[data.flow];
    ReceiverState& receiver = flow.receiver;
    receiver.since_ack = 0;
    const std::uint32_t id = packets_.take();
    Packet& ack = packets_[id];
    ack.kind = PacketKind::ack;
    ack.sent_at = data.sent_at;
    ack.flow = data.flow;
    ack.sequence = data.sequence;
    ack.cumulative = receiver.expected;
    ack.bytes_total = receiver.received;
    ack.destination = flow.source;
    ack.bytes = static_cast<std::uint16_t>(parameters_.header_bytes);
    ack.entropy = data.entropy;
    ack.flags = static_cast<std::uint8_t>(data.flags & packet_flag::kRetransmitted);
    if (parameters_.control_priority) {
        ack.flags |= packet_flag::kControl;
    }
    if (selective_) {
        ack.bitmap = receiver.packets.bitmap(receiver.expected, ack.sack_base());
    }
    if (marked) {
        ack.flags |= packet_flag::kMarked;
        const std::int64_t interval = parameters_.dcqcn.cnp_interval.picoseconds();
        if (receiver.last_notified < 0 || now_ - receiver.last_notified >= interval) {
            receiver.last_notified = now_;
            ack.flags |= packet_flag::kNotify;
        }
    }
    if (stamps_on_ && data_id != kNone) {
        ack.num_stamps = data.num_stamps;
        if (stamps_.size() < packets_.capacity()) {
            stamps_.resize(2 * packets_.capacity());
        }
        stamps_[id] = stamps_[data_id];
    }
    send_control(flow.destination, id);
}

void PacketEngine::send_nack(const Packet& data, std::uint32_t sequence) {
    const Flow& flow = flows_[data.flow];
    const std::uint32_t id = packets_.take();
    Packet& nack = packets_[id];
    nack.kind = PacketKind::nack;
    nack.sent_at = data.sent_at;
    nack.flow = data.flow;
    nack.sequence = sequence;
    nack.cumulative = flow.receiver.expected;
    nack.destination = flow.source;
    nack.bytes = static_cast<std::uint16_t>(parameters_.header_bytes);
    nack.entropy = data.entropy;
    nack.flags = static_cast<std::uint8_t>(packet_flag::kControl |
                                           (data.flags & packet_flag::kTrimmedAtLastHop));
    send_control(flow.destination, id);
}

}  // namespace orrery::packet
