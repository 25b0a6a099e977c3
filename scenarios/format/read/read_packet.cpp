// SPDX-License-Identifier: Apache-2.0
// network.packet: the congestion control, and the parameters of the packet model that a scenario
// may change (network/packet/parameters.h). Defaults are the published set-up of that congestion
// control.
#include "scenarios/format/read/key_tables.h"
#include "scenarios/format/read/read_control.h"
#include "scenarios/format/read/read_sections.h"
#include "scenarios/format/specs/network_words.h"

namespace orrery {
namespace {

using packet::CongestionKind;
using packet::PacketParameters;
using packet::PfcKind;
using packet::RecoveryKind;
using packet::SprayKind;

constexpr Choice<SprayKind> kSprays[] = {
    {"single", SprayKind::single},
    {"oblivious", SprayKind::oblivious},
    {"bitmap", SprayKind::bitmap},
    {"reps", SprayKind::reps},
    {"mixed", SprayKind::mixed},
};
constexpr Choice<RecoveryKind> kRecoveries[] = {
    {"selective", RecoveryKind::selective},
    {"go_back_n", RecoveryKind::go_back_n},
};
constexpr Choice<PfcKind> kPfcKinds[] = {
    {"off", PfcKind::off},
    {"fixed", PfcKind::fixed},
    {"dynamic", PfcKind::dynamic},
};

void check_ecn(MapReader& reader, packet::EcnParameters& ecn) {
    const bool least = reader.good("kmin");
    if (least != reader.good("kmax")) {
        reader.complain(least ? "kmin" : "kmax",
                        "ECN needs both thresholds, or none for the published ones",
                        "kmin: 100 KB and kmax: 400 KB");
    } else if (ecn.kmax < ecn.kmin) {
        reader.complain("kmin", "ECN's kmin lies above kmax", "no mark up to kmin, all above kmax");
    } else if (least && ecn.pmax == 0) {
        ecn.pmax = 1;
    }
}

void check_pfc(MapReader& reader, packet::PfcParameters& pfc) {
    if (pfc.xon_packets > pfc.xoff_packets) {
        reader.complain("xon_packets",
                        "PFC would resume above the length at which it pauses",
                        "xon_packets up to xoff_packets");
    }
}

constexpr std::string_view kDerived = "derived from the network";

constexpr Key kEcnRows[] = {
    key<&packet::EcnParameters::on>("on", "Switches mark packets."),
    key<&packet::EcnParameters::kmin>(
        "kmin", "Queue of a port at the NIC's rate up to which no packet is marked.")
        .by(kDerived),
    key<&packet::EcnParameters::kmax>("kmax", "Such a queue above which all packets are marked.")
        .by(kDerived),
    key<&packet::EcnParameters::pmax>("pmax", "Probability of a mark just below kmax.")
        .range(0, 1)
        .by(kDerived),
    key<&packet::EcnParameters::last_hop>("last_hop", "The last switch marks, too."),
};
constexpr auto kEcnKeys =
    key_table<packet::EcnParameters, check_ecn>("ecn", kEcnRows, "{kmin: 100 KB, kmax: 400 KB}");

constexpr Key kPfcRows[] = {
    choice<kPfcKinds, &packet::PfcParameters::kind>("kind", "Thresholds of Priority Flow Control."),
    key<&packet::PfcParameters::xoff_packets>("xoff_packets",
                                              "fixed: packets from which an ingress port pauses.")
        .range(1, 1'000'000),
    key<&packet::PfcParameters::xon_packets>("xon_packets", "fixed: packets from which it resumes.")
        .range(0, 1'000'000),
    key<&packet::PfcParameters::buffer>("buffer", "dynamic: shared buffer of a switch.")
        .by(kDerived),
    key<&packet::PfcParameters::reserve>("reserve",
                                         "dynamic: part of the buffer that each ingress port has."),
    key<&packet::PfcParameters::headroom>("headroom", "dynamic: buffer of a port after its pause.")
        .by(kDerived),
    key<&packet::PfcParameters::resume_offset>("resume_offset",
                                               "dynamic: a port resumes this far below its pause."),
    key<&packet::PfcParameters::shift>("shift",
                                       "dynamic: a port may use the free buffer / 2^shift.")
        .range(0, 30),
};
constexpr auto kPfcKeys =
    key_table<packet::PfcParameters, check_pfc>("pfc", kPfcRows, "{kind: dynamic}");

// First in its table, because the other keys change its values.
constexpr Key congestion() {
    Key row = plain_choice<kCongestionKinds>("congestion", "Congestion control.").by("nscc");
    row.read = [](MapReader& reader, const Key& of, void* object) {
        PacketParameters& p = static_cast<PacketSettings*>(object)->parameters;
        CongestionKind kind = p.congestion;
        const bool good = reader.choice(of.name, kind, kCongestionKinds);
        p = packet::published_parameters(kind);
        return good;
    };
    return row;
}

void check_packet(MapReader& reader, PacketSettings& settings) {
    settings.where = reader.map().where();
    settings.spray_given = reader.good("spray");
}

template <auto kMember>
constexpr Key parameter(std::string_view name, std::string_view meaning) {
    return key<&PacketSettings::parameters, kMember>(name, meaning);
}

constexpr Key kPacketRows[] = {
    congestion(),
    choice<kSprays, &PacketSettings::parameters, &PacketParameters::spray>(
        "spray", "Choice of a packet's path.")
        .by("the fabric's routing"),
    choice<kRecoveries, &PacketSettings::parameters, &PacketParameters::recovery>(
        "recovery", "Repair of lost packets."),
    bytes<&PacketSettings::parameters, &PacketParameters::packet_bytes>(
        "packet_size", "A packet on the wire, with header.")
        .range(1, 65'535),
    bytes<&PacketSettings::parameters, &PacketParameters::header_bytes>("header_size",
                                                                        "Header of a packet.")
        .range(1, 65'535),
    parameter<&PacketParameters::num_paths>("num_paths", "Paths that a flow's packets may take.")
        .range(1, 32'768),
    parameter<&PacketParameters::trimming>("trimming",
                                           "A full queue cuts the payload off; false: it drops."),
    parameter<&PacketParameters::queue>("queue", "Data queue of a port.").by(kDerived),
    parameter<&PacketParameters::window>("window", "First and largest window of a flow.")
        .by(kDerived),
    parameter<&PacketParameters::base_rtt>("base_rtt", "RTT of the empty network.").by(kDerived),
    parameter<&PacketParameters::retransmit_timeout>("retransmit_timeout",
                                                     "A packet is lost after a silence this long.")
        .by(kDerived),
    parameter<&PacketParameters::retry_exponent>("retry_exponent",
                                                 "go_back_n: the time-out is 4.096 us * 2^this.")
        .range(0, 31),
    parameter<&PacketParameters::retries_max>("retries_max",
                                              "A flow fails after this many time-outs.")
        .range(0, 1'000),
    parameter<&PacketParameters::credit_rate>("credit_rate",
                                              "credits: rate of a receiver's credits / its line.")
        .range(0.01, 1),
    parameter<&PacketParameters::time_max>("time_max", "Stop at this time.").by("none"),
    part<&PacketSettings::parameters, &PacketParameters::ecn>(
        "ecn", kEcnKeys, "Explicit congestion notification."),
    part<&PacketSettings::parameters, &PacketParameters::pfc>(
        "pfc", kPfcKeys, "Priority flow control."),
    control<CongestionKind::dcqcn, &PacketParameters::dcqcn>(
        "dcqcn", kDcqcnKeys, "Numbers of DCQCN."),
    control<CongestionKind::dctcp, &PacketParameters::dctcp>(
        "dctcp", kDctcpKeys, "Numbers of DCTCP."),
    control<CongestionKind::swift, &PacketParameters::swift>(
        "swift", kSwiftKeys, "Numbers of Swift."),
    control<CongestionKind::hpcc, &PacketParameters::hpcc>("hpcc", kHpccKeys, "Numbers of HPCC."),
    control<CongestionKind::nscc, &PacketParameters::nscc>(
        "nscc", kNsccKeys, "Numbers of UEC's NSCC."),
    control<CongestionKind::megascale, &PacketParameters::megascale>(
        "megascale", kMegascaleKeys, "Numbers of MegaScale's control."),
};

}  // namespace

const KeyTable<PacketSettings> kPacketKeys =
    key_table<PacketSettings, check_packet>("packet", kPacketRows, "{congestion: dcqcn}");

void read_packet(const DocumentNode& map, PacketSettings& settings, Errors& errors) {
    read_map(map, "network.packet", kPacketKeys, settings, errors);
}

}  // namespace orrery
