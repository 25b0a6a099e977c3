// SPDX-License-Identifier: Apache-2.0
// PFC: the admission to a switch's buffer, and the pauses for the ports that feed it. Also links
// whose rate changes while packets are on them.
#include <algorithm>

#include "engine/base/check.h"
#include "network/packet/packet_engine.h"

namespace orrery::packet {

void PacketEngine::init_flow_control() {
    has_pfc_ = parameters_.pfc.kind != PfcKind::off;
    if (!has_pfc_) {
        return;
    }
    ingress_.resize(ports_.size());
    for (SwitchState& state : switches_) {
        state.shared_max = parameters_.pfc.buffer.count();
    }
    for (std::uint32_t id = 0; id < ports_.size(); ++id) {
        const PortInfo& port = topology_.port(id);
        if (topology_.is_host(port.to)) {
            continue;
        }
        // Bytes that may still arrive after the pause was sent: those of a round trip, and two
        // packets in transmission (IEEE 802.1Qbb, annex O, without the reaction times).
        const double bits =
            static_cast<double>(port.rate.bits_per_second()) * port.latency.seconds();
        const auto bdp = static_cast<std::int64_t>(bits / 8);
        const std::int64_t needed =
            std::max(3 * bdp, 2 * bdp + 2 * std::int64_t{parameters_.packet_bytes});
        const std::int64_t headroom =
            parameters_.pfc.headroom.count() > 0 ? parameters_.pfc.headroom.count() : needed;
        ingress_[id].headroom_max = static_cast<std::uint32_t>(headroom);
        switches_[port.to - nics_.size()].shared_max -= headroom + parameters_.pfc.reserve.count();
    }
}

// Dynamic threshold (Choudhury and Hahne, 1998): a share of the free buffer, which doubles with
// each doubling of the port's rate over the hosts'.
std::int64_t PacketEngine::pause_threshold(std::uint32_t ingress) const {
    const PortInfo& port = topology_.port(ingress);
    const SwitchState& state = switches_[port.to - nics_.size()];
    std::uint32_t shift = parameters_.pfc.shift;
    std::int64_t rate = topology_.shape().host_rate.bits_per_second() * 2;
    while (shift > 0 && port.rate.bits_per_second() >= rate) {
        --shift;
        rate *= 2;
    }
    return std::max<std::int64_t>(state.shared_max - state.shared, 0) >> shift;
}

// Admits `packet` to the switch's buffer. False if there is no room; in a lossless network the
// headroom must prevent that.
bool PacketEngine::admit(const Packet& packet) {
    Ingress& in = ingress_[packet.ingress];
    if (parameters_.pfc.kind == PfcKind::dynamic) {
        const auto reserve = static_cast<std::uint32_t>(parameters_.pfc.reserve.count());
        const std::uint32_t in_reserve = in.bytes - in.shared - in.headroom;
        if (in_reserve + packet.bytes > reserve) {
            SwitchState& state = switches_[topology_.port(packet.ingress).to - nics_.size()];
            const bool shared_full =
                in.headroom > 0 || in.shared + packet.bytes > pause_threshold(packet.ingress);
            if (!shared_full) {
                in.shared += packet.bytes;
                state.shared += packet.bytes;
            } else if (in.headroom + packet.bytes <= in.headroom_max) {
                in.headroom += packet.bytes;
            } else {
                return false;
            }
        }
    }
    in.bytes += packet.bytes;
    check_pause(packet.ingress);
    return true;
}

// Empties the headroom first, then the shared pool, then the reserve.
void PacketEngine::release_buffer(std::uint32_t ingress, std::uint32_t bytes) {
    Ingress& in = ingress_[ingress];
    const std::uint32_t from_headroom = std::min(bytes, in.headroom);
    in.headroom -= from_headroom;
    const std::uint32_t from_shared = std::min(bytes - from_headroom, in.shared);
    in.shared -= from_shared;
    switches_[topology_.port(ingress).to - nics_.size()].shared -= from_shared;
    in.bytes -= bytes;
    check_pause(ingress);
}

void PacketEngine::check_pause(std::uint32_t ingress) {
    Ingress& in = ingress_[ingress];
    const PfcParameters& pfc = parameters_.pfc;
    bool stop = false;
    bool go = false;
    if (pfc.kind == PfcKind::fixed) {
        stop = in.bytes > pfc.xoff_packets * parameters_.packet_bytes;
        go = in.bytes < pfc.xon_packets * parameters_.packet_bytes;
    } else {
        const std::int64_t threshold = pause_threshold(ingress);
        stop = in.headroom > 0 || (in.shared > 0 && in.shared >= threshold);
        go = in.headroom == 0 &&
             (in.shared == 0 || in.shared + pfc.resume_offset.count() <= threshold);
    }
    if (in.paused ? go : stop) {
        in.paused = !in.paused;
        schedule(
            now_ + ports_[ingress].latency, ingress, in.paused ? Action::pause : Action::resume);
    }
}

void PacketEngine::set_paused(std::uint32_t port_id, bool paused) {
    Port& port = ports_[port_id];
    if (port.paused == paused) {
        return;
    }
    port.paused = paused;
    if (paused) {
        ++port.pauses;
        ++totals_.pauses;
        port.paused_since = now_;
        return;
    }
    port.paused_time += now_ - port.paused_since;
    if (is_idle(port)) {
        serve(port_id);
    } else {
        need_release(port_id);
    }
}

void PacketEngine::apply_rate(std::uint32_t port_id, Bandwidth rate) {
    Port& port = ports_[port_id];
    topology_.set_rate(port_id, rate);
    port.dead = rate == Bandwidth{};
    if (!port.dead) {
        const auto scaled = static_cast<unsigned __int128>(8'000'000'000'000) << kByteTimeShift;
        const auto bps = static_cast<unsigned __int128>(rate.bits_per_second());
        port.byte_time = static_cast<std::uint64_t>((scaled + bps - 1) / bps);
    }
}

void PacketEngine::change_rate(std::uint32_t change) {
    const std::uint32_t port_id = changes_[change].port;
    apply_rate(port_id, changes_[change].rate);
    Port& port = ports_[port_id];
    if (parameters_.reroute_after < Time::max()) {
        schedule(now_ + parameters_.reroute_after.picoseconds(), change, Action::know_change);
    }
    if (!port.dead) {
        if (is_idle(port)) {
            serve(port_id);
        }
        return;
    }
    for (const std::uint8_t queue_class : {kControlClass, kDataClass}) {
        while (port.head[queue_class] != kNone) {
            const std::uint32_t id = take_head(port, queue_class);
            const Packet& packet = packets_[id];
            if (has_pfc_ && queue_class == kDataClass && packet.ingress != kNone) {
                release_buffer(packet.ingress, packet.bytes);
            }
            ++port.lost;
            ++totals_.lost;
            packets_.give_back(id);
        }
    }
}

}  // namespace orrery::packet
