// SPDX-License-Identifier: Apache-2.0
// network.packet.<algorithm>: the numbers of the congestion control that was chosen, named as in
// network/congestion/<algorithm>.h, each with its published default. dcqcn also knows `preset:
// paper`, the set of its publication (DcqcnParameters::paper).
#include "scenarios/format/read/read_control.h"

#include <fmt/format.h>

#include "scenarios/format/specs/network_words.h"

namespace orrery {
namespace {

enum class DcqcnPreset : std::uint8_t { nic, paper };
constexpr Choice<DcqcnPreset> kPresets[] = {
    {"nic", DcqcnPreset::nic},
    {"paper", DcqcnPreset::paper},
};

void period(MapReader& reader, std::string_view key, Time& value) {
    if (reader.quantity(key, value) && value <= Time{}) {
        reader.complain(key, reader.full_name(key) + " must not be zero", "50 us");
        value = Time::picoseconds(1);
    }
}

void read(MapReader& reader, DcqcnParameters& p) {
    DcqcnPreset preset = DcqcnPreset::nic;
    if (reader.choice("preset", preset, kPresets) && preset == DcqcnPreset::paper) {
        p = DcqcnParameters::paper();
    }
    reader.real("gain", p.gain, 1e-6, 1);
    period(reader, "alpha_period", p.alpha_period);
    period(reader, "decrease_period", p.decrease_period);
    period(reader, "increase_period", p.increase_period);
    reader.integer("fast_recovery_stages", p.fast_recovery_stages, {0, 1'000});
    Bytes counter{p.byte_counter};
    if (reader.quantity("byte_counter", counter)) {
        p.byte_counter = counter.count();
    }
    reader.real("additive_per_line", p.additive_per_line, 0, 1);
    reader.real("hyper_per_line", p.hyper_per_line, 0, 1);
    reader.quantity("rate_min", p.rate_min);
    reader.boolean("clamp_target", p.clamp_target);
    reader.quantity("cnp_interval", p.cnp_interval);
}

void read(MapReader& reader, DctcpParameters& p) {
    reader.real("gain", p.gain, 1e-6, 1);
    reader.quantity("increase", p.increase);
    reader.quantity("rate_min", p.rate_min);
}

void read(MapReader& reader, SwiftParameters& p) {
    reader.quantity("base_target", p.base_target);
    reader.real("hop_share", p.hop_share, 0, 10);
    reader.real("range", p.range, 0, 1'000);
    reader.real("increase", p.increase, 0, 1'000);
    reader.real("decrease", p.decrease, 0, 1);
    reader.real("decrease_max", p.decrease_max, 0, 0.99);
    reader.real("window_start", p.window_start, 0, 1e6);
    reader.real("window_min", p.window_min, 1e-4, 1e6);
    reader.real("window_max", p.window_max, 1, 1e6);
}

void read(MapReader& reader, HpccParameters& p) {
    reader.real("eta", p.eta, 0.1, 1);
    reader.integer("stages_max", p.stages_max, {0, 1'000});
    reader.real("increase_per_line", p.increase_per_line, 0, 1);
    reader.quantity("rate_min", p.rate_min);
}

void read(MapReader& reader, NsccParameters& p) {
    reader.real("target_share", p.target_share, 0, 100);
    reader.real("proportional", p.proportional, 0, 1'000);
    reader.real("fair", p.fair, 0, 1'000);
    reader.real("additive", p.additive, 0, 1'000);
    reader.real("decrease", p.decrease, 0, 1);
    reader.real("decrease_max", p.decrease_max, 0.01, 1);
    reader.boolean("quick_adapt", p.quick_adapt);
    reader.real("window_max", p.window_max, 0.1, 100);
}

void read(MapReader& reader, MegaScaleParameters& p) {
    reader.real("gain", p.gain, 1e-6, 1);
    read(reader, p.delay);
}

template <class Parameters>
void read_map(MapReader& packet,
              std::string_view key,
              packet::CongestionKind kind,
              packet::CongestionKind chosen,
              Parameters& parameters,
              Errors& errors) {
    const DocumentNode* map = packet.find(key);
    if (map == nullptr) {
        return;
    }
    if (kind != chosen) {
        packet.complain(key,
                        fmt::format("{} is not the congestion control that was chosen, {}",
                                    packet.full_name(key),
                                    word_of(chosen, kCongestionKinds)),
                        fmt::format("congestion: {}", word_of(kind, kCongestionKinds)));
        return;
    }
    if (!map->is_map()) {
        packet.complain(
            key, fmt::format("{} must be a map, not {}", packet.full_name(key), map->describe()));
        return;
    }
    MapReader reader{*map, packet.full_name(key), errors};
    read(reader, parameters);
    reader.finish();
}

}  // namespace

void read_control(MapReader& packet, packet::PacketParameters& p, Errors& errors) {
    using packet::CongestionKind;
    const CongestionKind chosen = p.congestion;
    read_map(packet, "dcqcn", CongestionKind::dcqcn, chosen, p.dcqcn, errors);
    read_map(packet, "dctcp", CongestionKind::dctcp, chosen, p.dctcp, errors);
    read_map(packet, "swift", CongestionKind::swift, chosen, p.swift, errors);
    read_map(packet, "hpcc", CongestionKind::hpcc, chosen, p.hpcc, errors);
    read_map(packet, "nscc", CongestionKind::nscc, chosen, p.nscc, errors);
    read_map(packet, "megascale", CongestionKind::megascale, chosen, p.megascale, errors);
}

}  // namespace orrery
