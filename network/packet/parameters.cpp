// SPDX-License-Identifier: Apache-2.0
#include "network/packet/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace orrery::packet {

namespace {

bool is_uec(CongestionKind kind) {
    return kind == CongestionKind::nscc || kind == CongestionKind::uec_dctcp ||
           kind == CongestionKind::credits;
}

double gigabits(const ClosShape& shape) {
    return static_cast<double>(shape.host_rate.bits_per_second()) * 1e-9;
}

Bytes kilobytes(double n) {
    return Bytes{static_cast<std::int64_t>(n * 1000)};
}

void derive_ecn(PacketParameters& p, const ClosShape& shape, std::int64_t bdp_packets) {
    EcnParameters& ecn = p.ecn;
    if (ecn.kmax.count() > 0) {
        ecn.pmax = ecn.pmax > 0 ? ecn.pmax : 1;
        return;
    }
    if (is_uec(p.congestion)) {
        const auto packets = [&](double share) {
            return Bytes{
                static_cast<std::int64_t>(std::ceil(static_cast<double>(bdp_packets) * share)) *
                p.packet_bytes};
        };
        ecn.kmin = packets(0.2);
        ecn.kmax = packets(0.8);
        ecn.pmax = 1;
    } else if (p.congestion == CongestionKind::dctcp) {
        ecn.kmin = ecn.kmax = kilobytes(30 * gigabits(shape) / 10);
        ecn.pmax = 1;
    } else {
        ecn.kmin = kilobytes(100 * gigabits(shape) / 25);
        ecn.kmax = kilobytes(400 * gigabits(shape) / 25);
        ecn.pmax = 0.2;
    }
}

void derive_timeout(PacketParameters& p, const ClosShape& shape) {
    if (p.retransmit_timeout > Time{}) {
        return;
    }
    if (p.recovery == RecoveryKind::selective && p.trimming) {
        const Time drain = p.queue / shape.host_rate;
        p.retransmit_timeout = Time::picoseconds(15'000'000) + drain * 6;
    } else {
        p.retransmit_timeout =
            Time::picoseconds(4'096'000) * (std::int64_t{1} << std::min(p.retry_exponent, 24U));
    }
}

}  // namespace

PacketParameters published_parameters(CongestionKind kind) {
    PacketParameters p;
    p.congestion = kind;
    if (is_uec(kind)) {
        p.ecn.last_hop = kind != CongestionKind::credits;
        return p;
    }
    p.spray = SprayKind::single;
    p.num_paths = 1;
    p.trimming = false;
    p.ack_every_bytes = 0;
    p.recovery = RecoveryKind::go_back_n;
    p.pfc.kind = kind == CongestionKind::none ? PfcKind::fixed : PfcKind::dynamic;
    p.ecn.on = kind == CongestionKind::dcqcn || kind == CongestionKind::dctcp ||
               kind == CongestionKind::megascale;
    p.control_priority = kind != CongestionKind::hpcc && kind != CongestionKind::dctcp;
    if (kind == CongestionKind::hpcc) {
        // run.py's MIN_RATE. With a lower rate, a flow waits long for its next packet and learns
        // late that a link has become free.
        p.hpcc.rate_min = Bandwidth::bits_per_second(1'000'000'000);
    }
    if (kind == CongestionKind::swift) {
        p.recovery = RecoveryKind::selective;
    }
    return p;
}

Time base_rtt_of(const ClosShape& shape, std::uint32_t packet_bytes, std::uint32_t header_bytes) {
    const auto links = static_cast<std::int64_t>(shape.diameter());
    const Time one_way = shape.host_latency * 2 + shape.link_latency * (links - 2);
    const Time serialised =
        Bytes{packet_bytes} / shape.host_rate + Bytes{header_bytes} / shape.host_rate;
    return one_way * 2 + serialised * links;
}

Result<PacketParameters> derived(const PacketParameters& given, const ClosShape& shape) {
    PacketParameters p = given;
    if (p.header_bytes == 0 || p.packet_bytes <= p.header_bytes || p.packet_bytes > 65'535) {
        return fail(
            {},
            fmt::format("packets of {} B with headers of {} B", p.packet_bytes, p.header_bytes),
            "packet_bytes up to 65535, header_bytes below it and above 0");
    }
    if (!std::has_single_bit(p.num_paths) || p.num_paths > 32'768) {
        return fail(
            {}, fmt::format("num_paths is {}", p.num_paths), "a power of two, at most 32768");
    }
    if (p.ecn.kmin < Bytes{} || p.ecn.kmax < p.ecn.kmin || p.ecn.pmax < 0 || p.ecn.pmax > 1) {
        return fail({}, "the ECN thresholds are not in order", "0 <= kmin <= kmax, 0 <= pmax <= 1");
    }
    if (p.window < Bytes{} || p.queue < Bytes{} || !(p.credit_rate > 0) || p.credit_rate > 1 ||
        p.packets_per_credit == 0) {
        return fail({},
                    "a window, queue or credit of the packet model is out of range",
                    "windows and queues 0 or more, 0 < credit_rate <= 1");
    }
    if (p.congestion == CongestionKind::credits && p.recovery != RecoveryKind::selective) {
        return fail({}, "receiver credits need selective recovery", "recovery: selective");
    }
    if (p.spray != SprayKind::single && p.recovery == RecoveryKind::go_back_n) {
        return fail({},
                    "go-back-N takes every packet out of order for a loss, and spraying reorders",
                    "recovery: selective, or spray: single");
    }
    if (p.spray == SprayKind::single) {
        p.num_paths = 1;
    }
    if (p.pfc.kind != PfcKind::off) {
        p.trimming = false;
        p.queue = Bytes{};
        if (p.pfc.buffer == Bytes{}) {
            p.pfc.buffer = Bytes{static_cast<std::int64_t>(16.0 * 1048576 * gigabits(shape) / 50)};
        }
    }
    // With larger values, timers of microseconds would fire for hours; around the Earth in glass
    // the RTT is 0.4 s.
    constexpr Time kRttMax = Time::picoseconds(1'000'000'000'000);
    const Time rtt = base_rtt_of(shape, p.packet_bytes, p.header_bytes);
    if (rtt > kRttMax || p.base_rtt > kRttMax) {
        return fail({},
                    fmt::format("packets take {:.3g} s there and back",
                                std::max(rtt, p.base_rtt).seconds()),
                    "latencies that add up to at most 1 s");
    }
    if (p.base_rtt <= Time{}) {
        p.base_rtt = rtt;
    }
    const double bdp =
        p.base_rtt.seconds() * static_cast<double>(shape.host_rate.bits_per_second()) / 8;
    const auto bdp_packets = static_cast<std::int64_t>(std::ceil(bdp / p.packet_bytes));
    if (p.queue == Bytes{} && p.pfc.kind == PfcKind::off) {
        // Without trimming, a 32nd of a switch's shared buffer.
        p.queue = p.trimming
                      ? Bytes{bdp_packets * p.packet_bytes}
                      : Bytes{static_cast<std::int64_t>(0.5 * 1048576 * gigabits(shape) / 50)};
    }
    if (p.window == Bytes{} && p.congestion == CongestionKind::credits) {
        p.window = Bytes{static_cast<std::int64_t>(1.5 * bdp)};
    }
    derive_ecn(p, shape, bdp_packets);
    derive_timeout(p, shape);
    return p;
}

}  // namespace orrery::packet
