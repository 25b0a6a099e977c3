// SPDX-License-Identifier: Apache-2.0
// network.packet: which congestion control, and every number of the packet model that a scenario
// may change (network/packet/parameters.h). What is not given is the published set-up of that
// congestion control.
#include <limits>

#include "scenarios/format/document/map_reader.h"
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

void packet_size(MapReader& reader, std::string_view key, std::uint32_t& value) {
    Bytes size;
    if (!reader.quantity(key, size)) {
        return;
    }
    if (size.count() < 1 || size.count() > 65'535) {
        reader.complain(key, reader.full_name(key) + " can't be so", "1 B to 65535 B");
        return;
    }
    value = static_cast<std::uint32_t>(size.count());
}

void read_ecn(const DocumentNode& map, packet::EcnParameters& ecn, Errors& errors) {
    MapReader reader{map, "network.packet.ecn", errors};
    reader.boolean("on", ecn.on);
    const bool least = reader.quantity("kmin", ecn.kmin);
    const bool most = reader.quantity("kmax", ecn.kmax);
    reader.real("pmax", ecn.pmax, 0, 1);
    reader.boolean("last_hop", ecn.last_hop);
    reader.finish();
    if (least != most) {
        reader.complain(least ? "kmin" : "kmax",
                        "ECN needs both thresholds, or none for the published ones",
                        "kmin: 100 KB and kmax: 400 KB");
    } else if (ecn.kmax < ecn.kmin) {
        reader.complain("kmin", "ECN's kmin lies above kmax", "no mark up to kmin, all above kmax");
    } else if (least && ecn.pmax == 0) {
        ecn.pmax = 1;
    }
}

void read_pfc(const DocumentNode& map, packet::PfcParameters& pfc, Errors& errors) {
    MapReader reader{map, "network.packet.pfc", errors};
    reader.choice("kind", pfc.kind, kPfcKinds);
    reader.integer("xoff_packets", pfc.xoff_packets, {1, 1'000'000});
    reader.integer("xon_packets", pfc.xon_packets, {0, 1'000'000});
    reader.quantity("buffer", pfc.buffer);
    reader.quantity("reserve", pfc.reserve);
    reader.quantity("headroom", pfc.headroom);
    reader.quantity("resume_offset", pfc.resume_offset);
    reader.integer("shift", pfc.shift, {0, 30});
    reader.finish();
    if (pfc.xon_packets > pfc.xoff_packets) {
        reader.complain("xon_packets",
                        "PFC would resume above the length at which it pauses",
                        "xon_packets up to xoff_packets");
    }
}

}  // namespace

void read_packet(const DocumentNode& map, PacketSettings& settings, Errors& errors) {
    if (!map.is_map()) {
        errors.push_back({map.where(),
                          "network.packet must be a map, not " + map.describe(),
                          "{congestion: dcqcn}"});
        return;
    }
    MapReader reader{map, "network.packet", errors};
    PacketParameters& p = settings.parameters;
    CongestionKind kind = p.congestion;
    reader.choice("congestion", kind, kCongestionKinds);
    p = packet::published_parameters(kind);
    settings.where = map.where();
    settings.spray_given = reader.choice("spray", p.spray, kSprays);
    reader.choice("recovery", p.recovery, kRecoveries);
    packet_size(reader, "packet_size", p.packet_bytes);
    packet_size(reader, "header_size", p.header_bytes);
    reader.integer("num_paths", p.num_paths, {1, 32'768});
    reader.boolean("trimming", p.trimming);
    reader.quantity("queue", p.queue);
    reader.quantity("window", p.window);
    reader.quantity("base_rtt", p.base_rtt);
    reader.quantity("retransmit_timeout", p.retransmit_timeout);
    reader.integer("retry_exponent", p.retry_exponent, {0, 31});
    reader.integer("retries_max", p.retries_max, {0, 1'000});
    reader.quantity("time_max", p.time_max);
    if (const DocumentNode* ecn = reader.find("ecn"); ecn != nullptr && ecn->is_map()) {
        read_ecn(*ecn, p.ecn, errors);
    } else if (ecn != nullptr) {
        reader.complain("ecn", "network.packet.ecn must be a map", "{kmin: 100 KB, kmax: 400 KB}");
    }
    if (const DocumentNode* pfc = reader.find("pfc"); pfc != nullptr && pfc->is_map()) {
        read_pfc(*pfc, p.pfc, errors);
    } else if (pfc != nullptr) {
        reader.complain("pfc", "network.packet.pfc must be a map", "{kind: dynamic}");
    }
    read_control(reader, p, errors);
    reader.finish();
}

}  // namespace orrery
