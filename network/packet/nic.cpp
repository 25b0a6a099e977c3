// SPDX-License-Identifier: Apache-2.0
// A host's NIC: ACKs and other control packets, and the flows with data to send, in turn.
#include <algorithm>

#include "engine/base/check.h"
#include "network/packet/packet_engine.h"

namespace orrery::packet {

namespace {
// Control packets per data packet while both wait (uet-htsim).
constexpr std::uint32_t kControlTurns = 10;
}  // namespace

std::uint32_t PacketEngine::next_bytes(const Flow& flow) const {
    const SenderState& sender = flow.sender;
    if (sender.num_lost > 0) {
        std::uint32_t sequence = sender.lost_from;
        while (sender.packets.state(sequence) != PacketState::lost) {
            ++sequence;
        }
        return static_cast<std::uint32_t>(packet_bytes(flow, sequence));
    }
    return static_cast<std::uint32_t>(packet_bytes(flow, sender.next_new));
}

bool PacketEngine::can_send(const Flow& flow) const {
    const SenderState& sender = flow.sender;
    if (flow.state != FlowState::running ||
        (sender.num_lost == 0 && sender.next_new == flow.num_packets)) {
        return false;
    }
    if (credits_) {
        return sender.credit > 0;
    }
    return sender.window - sender.in_flight >= static_cast<std::int64_t>(next_bytes(flow));
}

// Queues the flow at its NIC if it may send; if it is paced, schedules its wake-up.
void PacketEngine::make_ready(std::uint32_t id) {
    Flow& flow = flows_[id];
    SenderState& sender = flow.sender;
    if (sender.on_nic || !can_send(flow)) {
        return;
    }
    Port& port = ports_[topology_.host_port(flow.source)];
    if (sender.next_send > std::max(now_, port.busy_until)) {
        if (sender.pace_timer < 0 || sender.pace_timer > sender.next_send) {
            sender.pace_timer = sender.next_send;
            schedule(sender.next_send, id, Action::pace);
        }
        return;
    }
    Nic& nic = nics_[flow.source];
    sender.on_nic = true;
    sender.next_active = kNone;
    if (nic.last_active == kNone) {
        nic.first_active = id;
    } else {
        flows_[nic.last_active].sender.next_active = id;
    }
    nic.last_active = id;
    kick(flow.source);
}

void PacketEngine::pace(std::uint32_t id) {
    SenderState& sender = flows_[id].sender;
    if (sender.pace_timer == now_) {
        sender.pace_timer = -1;
        make_ready(id);
    }
}

void PacketEngine::kick(std::uint32_t host) {
    const std::uint32_t port_id = topology_.host_port(host);
    if (is_idle(ports_[port_id])) {
        serve_host(host);
    } else {
        need_release(port_id);
    }
}

void PacketEngine::serve_host(std::uint32_t host) {
    const std::uint32_t port_id = topology_.host_port(host);
    Port& port = ports_[port_id];
    Nic& nic = nics_[host];
    if (port.dead) [[unlikely]] {
        while (port.head[kControlClass] != kNone) {
            ++port.lost;
            ++totals_.lost;
            packets_.give_back(take_head(port, kControlClass));
        }
        return;  // flows wait until the link is back, or until their retries are used up
    }
    const bool data_may = nic.first_active != kNone && !port.paused;
    // ACKs in the data class are paused with it
    const bool control_may =
        port.head[kControlClass] != kNone && (parameters_.control_priority || !port.paused);
    if (control_may) {
        nic.control_turn = (nic.control_turn + 1) % (kControlTurns + 1);
        if (!data_may || nic.control_turn != 0) {
            transmit(port_id, take_head(port, kControlClass));
            if (nic.first_active != kNone) {
                need_release(port_id);
            }
            return;
        }
    }
    if (data_may && send_next_data(host)) {
        return;
    }
    if (control_may) {
        transmit(port_id, take_head(port, kControlClass));
    }
}

// False if none of the queued flows may send.
bool PacketEngine::send_next_data(std::uint32_t host) {
    Nic& nic = nics_[host];
    while (nic.first_active != kNone) {
        const std::uint32_t id = nic.first_active;
        SenderState& sender = flows_[id].sender;
        nic.first_active = sender.next_active;
        if (nic.first_active == kNone) {
            nic.last_active = kNone;
        }
        sender.on_nic = false;
        if (sender.next_send > now_ || !can_send(flows_[id])) {
            make_ready(id);  // schedules a later wake-up if its pace has slowed down
            continue;
        }
        emit_data(id, host);
        make_ready(id);
        if (nic.first_active != kNone) {
            need_release(topology_.host_port(host));
        }
        return true;
    }
    return false;
}

void PacketEngine::send_control(std::uint32_t host, std::uint32_t id) {
    ++totals_.acks;
    append(topology_.host_port(host), id, kControlClass);
    kick(host);
}

void PacketEngine::emit_data(std::uint32_t flow_id, std::uint32_t host) {
    Flow& flow = flows_[flow_id];
    SenderState& sender = flow.sender;
    const std::uint32_t bytes = next_bytes(flow);
    std::uint32_t sequence = sender.next_new;
    bool again = sequence < sender.highest_sent;
    if (sender.num_lost > 0) {
        while (sender.packets.state(sender.lost_from) != PacketState::lost) {
            ++sender.lost_from;
        }
        sequence = sender.lost_from++;
        --sender.num_lost;
        sender.lost_bytes -= bytes;
        again = true;
    } else {
        ++sender.next_new;
        if (!again) {
            sender.backlog -= bytes;
        }
    }
    sender.highest_sent = std::max(sender.highest_sent, sender.next_new);
    sender.in_flight += bytes;
    sender.credit -= credits_ ? bytes : 0;
    if (selective_) {
        sender.packets.sent(sender.acknowledged, sequence, now_, again);
    }
    const std::uint32_t id = packets_.take();
    Packet& packet = packets_[id];
    packet.sent_at = now_;
    packet.flow = flow_id;
    packet.sequence = sequence;
    packet.destination = flow.destination;
    packet.bytes = static_cast<std::uint16_t>(bytes);
    packet.entropy = flow.selector.next();
    packet.flags = again ? packet_flag::kRetransmitted : std::uint8_t{0};
    if (credits_) {
        packet.bytes_total = wanted_credit(flow);
    }
    const bool last = sender.backlog == 0 || (credits_ && sender.credit <= 0) ||
                      (!credits_ && sender.window - sender.in_flight <= std::int64_t{bytes});
    if (last || again) {
        packet.flags |= packet_flag::kAckRequested;
    }
    ++flow.result.packets_sent;
    flow.result.packets_repeated += again ? 1 : 0;
    ++totals_.data_packets;
    totals_.repeated += again ? 1 : 0;
    const std::uint32_t port_id = topology_.host_port(host);
    transmit(port_id, id);
    sender.last_send = now_;
    if (sender.rate != kUnlimited) {
        const auto gap = static_cast<__int128>(bytes) * 8'000'000'000'000 / sender.rate;
        sender.next_send = now_ + static_cast<std::int64_t>(gap);
        // Rounded down, so that a flow at line rate is not slower than its line.
        if (sender.rate >= topology_.port(port_id).rate.bits_per_second()) {
            sender.next_send = 0;
        }
    }
    arm_retransmit_timer(flow_id, now_ + parameters_.retransmit_timeout.picoseconds());
}

}  // namespace orrery::packet
