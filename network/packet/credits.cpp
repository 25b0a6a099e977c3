// SPDX-License-Identifier: Apache-2.0
// Receiver credits (Ultra Ethernet's RCCC): senders report the bytes that they want to send, and
// receivers grant credit at their own line rate, in turn. Behaviour: ultraethernet/uet-htsim
// 40ccb05, uec.cpp.
#include <algorithm>

#include "network/packet/packet_engine.h"

namespace orrery::packet {

void PacketEngine::stop_speculating(Flow& flow) {
    if (credits_ && flow.sender.speculating) {
        flow.sender.credit = std::min<std::int64_t>(flow.sender.credit, 0);
    }
    flow.sender.speculating = false;
}

void PacketEngine::on_credit(const Packet& packet) {
    Flow& flow = flows_[packet.flow];
    if (flow.state != FlowState::running) {
        return;
    }
    SenderState& sender = flow.sender;
    if (packet.bytes_total > sender.granted) {
        sender.credit = std::min(sender.credit + packet.bytes_total - sender.granted,
                                 parameters_.window.count());
        sender.granted = packet.bytes_total;
        sender.last_heard = now_;
    }
    make_ready(packet.flow);
}

// The total that the receiver may grant: the present grants plus the uncovered rest of the flow, at
// most one window.
std::int64_t PacketEngine::wanted_credit(const Flow& flow) const {
    const SenderState& sender = flow.sender;
    std::int64_t wanted =
        std::min(sender.backlog + sender.lost_bytes, parameters_.window.count()) - sender.credit;
    if (sender.speculating && wanted < parameters_.packet_bytes && sender.backlog > 0) {
        wanted = parameters_.packet_bytes;
    }
    return sender.granted + wanted;
}

// Requests credit in a packet of its own, because there is no data packet to carry the request.
void PacketEngine::request_credit(std::uint32_t id) {
    Flow& flow = flows_[id];
    flow.sender.last_request = now_;
    const std::uint32_t request = packets_.take();
    Packet& packet = packets_[request];
    packet.kind = PacketKind::request;
    packet.flow = id;
    packet.destination = flow.destination;
    packet.bytes = static_cast<std::uint16_t>(parameters_.header_bytes);
    packet.flags = packet_flag::kControl;
    packet.entropy = flow.selector.next();
    packet.bytes_total = wanted_credit(flow);
    send_control(flow.source, request);
}

// After a loss, a sender may have neither credit nor data packets that could carry a request.
void PacketEngine::request_if_stuck(std::uint32_t id) {
    const SenderState& sender = flows_[id].sender;
    const bool wants = sender.num_lost > 0 || sender.backlog > 0;
    const bool silent = sender.in_flight <= 0 || sender.backlog == 0;
    if (credits_ && wants && silent && sender.credit <= 0 &&
        now_ - sender.last_request >= parameters_.base_rtt.picoseconds()) {
        request_credit(id);
    }
}

// The sender wants a total grant of `wanted` bytes.
void PacketEngine::want_credit(std::uint32_t flow_id, std::int64_t wanted) {
    Flow& flow = flows_[flow_id];
    ReceiverState& receiver = flow.receiver;
    receiver.wanted = std::max(receiver.wanted, wanted);
    if (receiver.wanted <= receiver.granted || receiver.in_credit_queue) {
        return;
    }
    receiver.in_credit_queue = true;
    Nic& nic = nics_[flow.destination];
    nic.wanting_credit.push_back(flow_id);
    if (!nic.credit_pending) {
        nic.credit_pending = true;
        schedule(std::max(now_, nic.credit_at), flow.destination, Action::give_credit);
    }
}

// Grants credit to the next sender in turn. The next grant follows when these bytes could have
// arrived.
void PacketEngine::give_credit(std::uint32_t host) {
    Nic& nic = nics_[host];
    nic.credit_pending = false;
    if (nic.wanting_credit.empty()) {
        return;
    }
    const std::uint32_t flow_id = nic.wanting_credit.front();
    nic.wanting_credit.pop_front();
    Flow& flow = flows_[flow_id];
    ReceiverState& receiver = flow.receiver;
    const std::int64_t most =
        std::int64_t{parameters_.packets_per_credit} * parameters_.packet_bytes;
    const std::int64_t grant = std::min(most, receiver.wanted - receiver.granted);
    receiver.granted += grant;
    receiver.in_credit_queue = receiver.wanted > receiver.granted;
    if (receiver.in_credit_queue) {
        nic.wanting_credit.push_back(flow_id);
    }
    const std::uint32_t id = packets_.take();
    Packet& credit = packets_[id];
    credit.kind = PacketKind::credit;
    credit.flow = flow_id;
    credit.destination = flow.source;
    credit.bytes = static_cast<std::uint16_t>(parameters_.header_bytes);
    credit.flags = packet_flag::kControl;
    credit.entropy = static_cast<std::uint16_t>(receiver.granted / most);
    credit.bytes_total = receiver.granted;
    send_control(host, id);
    Bandwidth line = topology_.port(Topology::reverse(topology_.host_port(host))).rate;
    if (line == Bandwidth{}) {
        line = path_info_.line_rate;
    }
    const double rate = parameters_.credit_rate * static_cast<double>(line.bits_per_second());
    const auto gap = static_cast<std::int64_t>(static_cast<double>(grant) * 8e12 / rate);
    nic.credit_at = now_ + gap;
    if (!nic.wanting_credit.empty()) {
        nic.credit_pending = true;
        schedule(nic.credit_at, host, Action::give_credit);
    }
}

}  // namespace orrery::packet
