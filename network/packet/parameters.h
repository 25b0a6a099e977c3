// SPDX-License-Identifier: Apache-2.0
// The parameters of the packet model that a user may set, with published default values and their
// sources. Zero in a field marked "derived" selects the rule beside it (derived() below). Sources:
// [uet] ultraethernet/uet-htsim 40ccb05; [hpcc] the HPCC authors' ns-3 simulator (run.py,
// config.txt); [nccl] NCCL's environment variables.
#pragma once

#include <cstdint>

#include "engine/base/result.h"
#include "engine/base/units.h"
#include "network/congestion/dcqcn.h"
#include "network/congestion/dctcp.h"
#include "network/congestion/hpcc.h"
#include "network/congestion/megascale.h"
#include "network/congestion/nscc.h"
#include "network/congestion/swift.h"
#include "network/packet/topology.h"

namespace orrery::packet {

enum class CongestionKind : std::uint8_t {
    none,  // line rate and one window of `window` bytes (0: no window), with PFC or trimming only
    nscc,  // UEC: congestion/nscc.h
    uec_dctcp,  // UEC's DCTCP without alpha: congestion/dctcp.h
    credits,    // UEC's RCCC: the receiver paces the senders
    dcqcn,      // congestion/dcqcn.h
    dctcp,      // congestion/dctcp.h
    swift,      // congestion/swift.h
    hpcc,       // congestion/hpcc.h
    megascale,  // congestion/megascale.h
};

// A sender's use of its packets' entropies.
enum class SprayKind : std::uint8_t {
    single,     // one path per flow (ECMP)
    oblivious,  // all entropies in turn, in a different order each round
    bitmap,     // in turn, but skips entropies that were marked, trimmed or timed out
    reps,       // entropies that were acknowledged unmarked, once each; otherwise random (REPS)
    mixed,      // entropies that were acknowledged unmarked first; otherwise as bitmap
};

enum class RecoveryKind : std::uint8_t {
    selective,  // the receiver keeps packets that arrive out of order; the sender repeats lost ones
    go_back_n,  // the receiver drops packets that arrive out of order (RoCE)
};

enum class PfcKind : std::uint8_t {
    off,
    fixed,    // pause an ingress port above xoff bytes, resume it below xon ([uet]: 15, 12 packets)
    dynamic,  // by the free part of the switch's shared buffer ([hpcc] switch-mmu)
};

struct PfcParameters {
    PfcKind kind = PfcKind::off;
    std::uint32_t xoff_packets = 15;  // fixed
    std::uint32_t xon_packets = 12;
    // Dynamic. Buffer derived: 16 MiB x NIC rate / 50 Gb/s. Pauses when the shared use reaches
    // (buffer - headroom - reserves - shared in use) >> shift, and resumes 3 KiB below it.
    Bytes buffer;
    Bytes reserve = Bytes{4096};  // per ingress port
    Bytes headroom;               // derived: 3 x rate x latency, at least 2 x that + 2 packets
    Bytes resume_offset = Bytes{3072};
    std::uint32_t shift = 3;
};

struct EcnParameters {
    bool on = true;
    // Marking thresholds of a port at NIC rate; they scale for faster ports. Derived: for UEC kinds
    // 20 % and 80 % of the BDP in whole packets and a probability up to 1; for DCTCP 30 KB x rate /
    // 10 Gb/s; otherwise [hpcc] 100 KB and 400 KB x rate / 25 Gb/s, probability 0.2. All mark at
    // dequeue.
    Bytes kmin;
    Bytes kmax;
    double pmax = 0;       // derived together with kmin
    bool last_hop = true;  // [uet] off if receivers pace (RCCC)
};

struct PacketParameters {
    CongestionKind congestion = CongestionKind::nscc;
    SprayKind spray = SprayKind::mixed;
    RecoveryKind recovery = RecoveryKind::selective;
    std::uint32_t packet_bytes = 4150;  // on the wire, including the header [uet]
    std::uint32_t header_bytes = 64;    // of every packet, and of an ACK [uet]
    bool full_last_packet = false;      // RoCE in htsim sends the last packet at full size
    std::uint32_t num_paths = 64;       // entropies, a power of two [uet]
    // An ACK per this number of bytes, and at once for marked, first, last and requested packets
    // [uet]. 0: one per packet.
    std::uint32_t ack_every_bytes = 16384;
    bool control_priority = true;  // ACKs overtake data in switches ([hpcc]: not for HPCC, DCTCP)

    // Data queue of a switch port. Derived: with trimming one BDP in whole packets [uet], otherwise
    // none (PFC or the shared buffer limits it).
    Bytes queue;
    bool trimming = true;  // a full queue trims the payload; false: it drops the packet
    EcnParameters ecn{};
    PfcParameters pfc{};

    // The RTT of an empty network between its farthest hosts. Derived: 2 x latency + the
    // serialisation of one packet and one ACK on every hop [uet].
    Time base_rtt;
    // Initial and maximum; with `none` 0 is no window; with credits derived: 1.5 BDP [uet]
    Bytes window;
    // The time without news after which the oldest packet counts as lost. Derived: selective with
    // trimming 15 us + 6 queues' drain time [uet]; otherwise 4.096 us x 2^retry_exponent.
    Time retransmit_timeout;
    std::uint32_t retry_exponent = 10;  // 4.2 ms; [nccl] NCCL_IB_TIMEOUT is 20 (4.3 s)
    std::uint32_t retries_max = 7;  // [nccl] NCCL_IB_RETRY_CNT; after these retries the flow fails
    // The delay until switches learn that a link is dead, or back.
    Time reroute_after = Time::max();
    Time nack_interval = Time::picoseconds(500'000'000);  // go-back-N, same packet [hpcc]
    double credit_rate = 0.99;             // fraction of the receiver's line rate [uet]
    std::uint32_t packets_per_credit = 4;  // [uet]

    NsccParameters nscc{};
    DcqcnParameters dcqcn{};
    DctcpParameters dctcp{};
    SwiftParameters swift{};
    HpccParameters hpcc{};
    MegaScaleParameters megascale{};

    std::uint64_t seed = 1;
    Time time_max = Time::max();  // stop at this time and report unfinished flows
};

// The published configurations: matching queues, ECN, ACKs, recovery and spraying.
PacketParameters published_parameters(CongestionKind kind);

// The round-trip time between the farthest hosts: [uet].
Time base_rtt_of(const ClosShape& shape, std::uint32_t packet_bytes, std::uint32_t header_bytes);

// Sets all derived fields. The error names a field with an impossible value.
Result<PacketParameters> derived(const PacketParameters& given, const ClosShape& shape);

}  // namespace orrery::packet
