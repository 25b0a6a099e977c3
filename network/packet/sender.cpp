// SPDX-License-Identifier: Apache-2.0
// The sending end of a flow: ACKs, losses, timers.
#include <algorithm>

#include "engine/base/check.h"
#include "network/packet/packet_engine.h"

namespace orrery::packet {

void PacketEngine::start_flow(std::uint32_t id) {
    Flow& flow = flows_[id];
    flow.state = FlowState::running;
    flow.result.start = Time::picoseconds(now_);
    if (first_start_ < 0) {
        first_start_ = now_;
    }
    SenderState& sender = flow.sender;
    sender.last_progress = now_;
    sender.backlog =
        std::int64_t{flow.num_packets - 1} * parameters_.packet_bytes + flow.last_bytes;
    sender.credit = parameters_.window.count();
    if (flow.num_packets == 0) {
        flow.result.delivered = flow.result.start;
        end_flow(id, FlowState::finished);
        return;
    }
    controller_changed(id);
    arm_retransmit_timer(id, now_ + parameters_.retransmit_timeout.picoseconds());
    make_ready(id);
}

// Applies the controller's new window and rate.
void PacketEngine::controller_changed(std::uint32_t id) {
    Flow& flow = flows_[id];
    SenderState& sender = flow.sender;
    std::int64_t timer = 0;
    std::int64_t rate = 0;
    std::visit(
        [&](const auto& controller) {
            sender.window = controller.window();
            rate = controller.rate();
            timer = controller.next_timer().picoseconds();
        },
        flow.controller);
    if (rate != sender.rate) {
        sender.rate = rate;
        if (sender.next_send > now_) {  // the gap after the last packet changes with the rate
            const auto gap = static_cast<__int128>(parameters_.packet_bytes) * 8'000'000'000'000 /
                             std::max<std::int64_t>(rate, 1);
            sender.next_send =
                std::min(sender.next_send, sender.last_send + static_cast<std::int64_t>(gap));
            make_ready(id);
        }
    }
    if (timer != Time::max().picoseconds() && timer != sender.controller_timer) {
        sender.controller_timer = timer;
        schedule(std::max(timer, now_), id, Action::controller_timer);
    }
}

void PacketEngine::controller_timer(std::uint32_t id) {
    Flow& flow = flows_[id];
    if (flow.state != FlowState::running || flow.sender.controller_timer > now_) {
        return;  // a later timer replaced this one
    }
    flow.sender.controller_timer = -1;
    std::visit([&](auto& controller) { controller.on_timer(Time::picoseconds(now_)); },
               flow.controller);
    controller_changed(id);
    make_ready(id);
}

void PacketEngine::note_arrived(Flow& flow, std::uint32_t sequence) {
    SenderState& sender = flow.sender;
    const PacketState state = sender.packets.state(sequence);
    // It was not lost: undo this, because `received` counts it, too
    if (state == PacketState::lost) {
        const std::int64_t bytes = packet_bytes(flow, sequence);
        --sender.num_lost;
        sender.lost_bytes -= bytes;
        sender.in_flight += bytes;
    }
    sender.packets.set_state(sequence, PacketState::arrived);
}

void PacketEngine::take_cumulative(Flow& flow, std::uint32_t cumulative) {
    SenderState& sender = flow.sender;
    if (cumulative <= sender.acknowledged) {
        return;
    }
    if (selective_) {
        for (std::uint32_t s = sender.acknowledged; s < cumulative; ++s) {
            note_arrived(flow, s);
        }
    } else {
        for (std::uint32_t s = sender.acknowledged; s < std::min(cumulative, sender.next_new);
             ++s) {
            sender.in_flight -= packet_bytes(flow, s);
        }
        sender.next_new = std::max(sender.next_new, cumulative);
    }
    sender.acknowledged = cumulative;
    sender.lost_from = std::max(sender.lost_from, cumulative);
}

void PacketEngine::take_selective(Flow& flow, const Packet& ack) {
    const std::uint32_t base = ack.sack_base();
    std::uint64_t bits = ack.bitmap;
    while (bits != 0) {
        const auto bit = static_cast<std::uint32_t>(std::countr_zero(bits));
        bits &= bits - 1;
        const std::uint32_t sequence = base + bit;
        if (sequence >= flow.sender.acknowledged && sequence < flow.sender.next_new) {
            note_arrived(flow, sequence);
        }
    }
}

// Without trimming losses are not reported. A packet is assumed lost if one far enough after it has
// arrived.
void PacketEngine::find_gaps(Flow& flow, std::uint32_t highest) {
    SenderState& sender = flow.sender;
    std::uint32_t threshold = gap_packets_;
    if (parameters_.spray != SprayKind::single) {
        const double packets = 1.5 *
                               static_cast<double>(std::min(sender.window, path_info_.bdp())) /
                               parameters_.packet_bytes;
        threshold = std::max(5U, static_cast<std::uint32_t>(packets));
    }
    std::uint32_t s = std::max(sender.loss_scanned, sender.acknowledged);
    for (; s + threshold <= highest; ++s) {
        if (sender.packets.state(s) == PacketState::in_flight && !sender.packets.repeated(s)) {
            declare_lost(flow, s);
            const NackSample nack{.now = Time::picoseconds(now_),
                                  .bytes = packet_bytes(flow, s),
                                  .in_flight = sender.in_flight};
            std::visit([&](auto& controller) { controller.on_nack(nack); }, flow.controller);
        }
    }
    sender.loss_scanned = std::max(sender.loss_scanned, s);
}

void PacketEngine::declare_lost(Flow& flow, std::uint32_t sequence) {
    SenderState& sender = flow.sender;
    const std::int64_t bytes = packet_bytes(flow, sequence);
    sender.packets.set_state(sequence, PacketState::lost);
    sender.in_flight -= bytes;
    sender.lost_bytes += bytes;
    ++sender.num_lost;
    sender.lost_from = std::min(sender.lost_from, sequence);
}

void PacketEngine::on_ack(std::uint32_t id) {
    const Packet packet = packets_[id];
    std::array<TelemetryStamp, kStampsMax> stamps;
    if (stamps_on_ && packet.num_stamps > 0) {
        stamps = stamps_[id];
    }
    packets_.give_back(id);
    Flow& flow = flows_[packet.flow];
    SenderState& sender = flow.sender;
    if (flow.state != FlowState::running) {
        return;
    }
    AckSample sample{.now = Time::picoseconds(now_),
                     .sent = sender.next_new,
                     .answered = packet.sequence,
                     .hops = packet.hop - 1U,
                     .marked = packet.has(packet_flag::kMarked),
                     .notified = packet.has(packet_flag::kNotify),
                     .stamps = {stamps.data(), packet.num_stamps}};
    sample.bytes = std::max<std::int64_t>(packet.bytes_total - sender.received_seen, 0);
    sender.received_seen += sample.bytes;
    const bool known = packet.sequence >= sender.acknowledged && packet.sequence < sender.next_new;
    if (!selective_ || (known && sender.packets.state(packet.sequence) == PacketState::in_flight)) {
        sample.rtt = Time::picoseconds(now_ - packet.sent_at);
    }
    if (selective_) {
        sender.in_flight -= sample.bytes;
    }
    if (sample.bytes > 0 || packet.cumulative > sender.acknowledged) {
        sender.last_progress = now_;
        sender.retries = 0;
    }
    take_cumulative(flow, packet.cumulative);
    if (selective_) {
        take_selective(flow, packet);
        if (find_gaps_) {
            find_gaps(flow, std::min(packet.sequence, sender.next_new));
        }
    }
    sample.in_flight = sender.in_flight;
    sample.acknowledged = sender.acknowledged;
    flow.result.marked_acks += sample.marked ? 1 : 0;
    flow.selector.on_news(packet.entropy, sample.marked ? PathNews::marked : PathNews::good);
    stop_speculating(flow);
    if (sender.acknowledged == flow.num_packets) {
        end_flow(packet.flow, FlowState::finished);
        return;
    }
    std::visit([&](auto& controller) { controller.on_ack(sample); }, flow.controller);
    controller_changed(packet.flow);
    make_ready(packet.flow);
    request_if_stuck(packet.flow);
}

void PacketEngine::on_nack(std::uint32_t id) {
    const Packet packet = packets_[id];
    packets_.give_back(id);
    Flow& flow = flows_[packet.flow];
    SenderState& sender = flow.sender;
    if (flow.state != FlowState::running) {
        return;
    }
    ++flow.result.nacks;
    if (!selective_) {
        take_cumulative(flow, packet.cumulative);
        go_back(flow, packet.cumulative);
        make_ready(packet.flow);
        return;
    }
    const bool known = packet.sequence >= sender.acknowledged && packet.sequence < sender.next_new;
    if (!known || sender.packets.state(packet.sequence) != PacketState::in_flight) {
        return;  // it arrived after all, or is already known to be lost
    }
    const NackSample sample{.now = Time::picoseconds(now_),
                            .rtt = Time::picoseconds(now_ - packet.sent_at),
                            .bytes = packet_bytes(flow, packet.sequence),
                            .in_flight = sender.in_flight,
                            .last_hop = packet.has(packet_flag::kTrimmedAtLastHop)};
    sender.last_heard = now_;  // the path there and back works
    std::visit([&](auto& controller) { controller.on_nack(sample); }, flow.controller);
    stop_speculating(flow);
    declare_lost(flow, packet.sequence);
    // At the last hop no other path would have helped.
    flow.selector.on_news(packet.entropy, sample.last_hop ? PathNews::good : PathNews::trimmed);
    controller_changed(packet.flow);
    make_ready(packet.flow);
    request_if_stuck(packet.flow);
}

void PacketEngine::go_back(Flow& flow, std::uint32_t sequence) {
    SenderState& sender = flow.sender;
    if (sequence < sender.acknowledged) {
        return;
    }
    for (std::uint32_t s = sequence; s < sender.next_new; ++s) {
        sender.in_flight -= packet_bytes(flow, s);
    }
    sender.next_new = std::min(sender.next_new, sequence);
}

void PacketEngine::arm_retransmit_timer(std::uint32_t id, std::int64_t at) {
    SenderState& sender = flows_[id].sender;
    if (!sender.retransmit_timer) {
        sender.retransmit_timer = true;
        schedule(at, id, Action::retransmit_timer);
    }
}

// Selective recovery: declares every packet lost whose time is over. True if there was one.
bool PacketEngine::lose_expired(std::uint32_t id) {
    Flow& flow = flows_[id];
    SenderState& sender = flow.sender;
    const std::int64_t timeout = parameters_.retransmit_timeout.picoseconds()
                                 << std::min(sender.retries, 20U);
    std::int64_t earliest = now_;
    bool any = false;
    for (std::uint32_t s = sender.acknowledged; s < sender.next_new; ++s) {
        if (sender.packets.state(s) != PacketState::in_flight) {
            continue;
        }
        if (sender.packets.sent_at(s) + timeout > now_) {
            earliest = std::min(earliest, sender.packets.sent_at(s));
            continue;
        }
        any = true;
        std::visit(
            [&](auto& controller) {
                controller.on_timeout(Time::picoseconds(now_), packet_bytes(flow, s));
            },
            flow.controller);
        declare_lost(flow, s);
    }
    arm_retransmit_timer(id, earliest + timeout);
    return any;
}

void PacketEngine::retransmit_timer(std::uint32_t id) {
    Flow& flow = flows_[id];
    SenderState& sender = flow.sender;
    sender.retransmit_timer = false;
    if (flow.state != FlowState::running) {
        return;
    }
    const std::int64_t timeout = parameters_.retransmit_timeout.picoseconds()
                                 << std::min(sender.retries, 20U);
    // A flow that waits for its own pace is not waiting for an answer.
    const bool paced = sender.in_flight == 0 && sender.pace_timer >= 0;
    bool silent = !paced && now_ - sender.last_progress >= timeout;
    bool lost = false;
    if (selective_) {
        lost = lose_expired(id);
        // Waiting for a turn at the receiver is not silence; losing packets is.
        silent = silent && (lost || now_ - sender.last_heard >= timeout);
    } else if (silent) {
        lost = true;
        go_back(flow, sender.acknowledged);
    } else {
        arm_retransmit_timer(id, (paced ? now_ : sender.last_progress) + timeout);
        return;
    }
    if (!lost && !silent) {
        return;
    }
    ++flow.result.timeouts;
    ++totals_.timeouts;
    flow.selector.on_timeout();
    if (silent && ++sender.retries > parameters_.retries_max) {
        end_flow(id, FlowState::failed);
        return;
    }
    if (!selective_) {
        std::visit(
            [&](auto& controller) {
                controller.on_timeout(Time::picoseconds(now_), parameters_.packet_bytes);
            },
            flow.controller);
        sender.last_progress = silent ? now_ : sender.last_progress;
    }
    sender.last_progress = std::max(sender.last_progress, now_);
    arm_retransmit_timer(id, now_ + timeout);
    controller_changed(id);
    if (credits_ && sender.credit <= 0) {
        stop_speculating(flow);
        request_credit(id);
    }
    make_ready(id);
}

void PacketEngine::end_flow(std::uint32_t id, FlowState state) {
    Flow& flow = flows_[id];
    flow.state = state;
    flow.result.state = state;
    flow.result.end = Time::picoseconds(now_);
    --num_unfinished_;
    if (ended_ != nullptr) {
        ended_->push_back(id);
    }
}

}  // namespace orrery::packet
