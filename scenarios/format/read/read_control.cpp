// SPDX-License-Identifier: Apache-2.0
// network.packet.<algorithm>: the parameters of the chosen congestion control, named as in
// network/congestion/<algorithm>.h, with their published defaults. dcqcn also has `preset: paper`,
// the parameters of its publication (DcqcnParameters::paper).
#include "scenarios/format/read/read_control.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "scenarios/format/specs/network_words.h"

namespace orrery {
namespace {

enum class DcqcnPreset : std::uint8_t { nic, paper };
constexpr Choice<DcqcnPreset> kPresets[] = {
    {"nic", DcqcnPreset::nic},
    {"paper", DcqcnPreset::paper},
};

constexpr Key gain(Key row) {
    return row.range(1e-6, 1);
}

// First in its table, because the other keys change its values.
constexpr Key preset() {
    Key row = plain_choice<kPresets>("preset", "Defaults: those of NICs, or of the publication.");
    row.read = [](MapReader& reader, const Key& of, void* object) {
        DcqcnPreset chosen = DcqcnPreset::nic;
        const bool good = reader.choice(of.name, chosen, kPresets);
        if (chosen == DcqcnPreset::paper) {
            *static_cast<DcqcnParameters*>(object) = DcqcnParameters::paper();
        }
        return good;
    };
    return row.by("nic");
}

constexpr Key kDcqcnRows[] = {
    preset(),
    gain(key<&DcqcnParameters::gain>("gain", "g of the publication.")),
    key<&DcqcnParameters::alpha_period>("alpha_period", "Time between updates of alpha.")
        .above_zero("50 us"),
    key<&DcqcnParameters::decrease_period>("decrease_period", "Least time between decreases.")
        .above_zero("50 us"),
    key<&DcqcnParameters::increase_period>("increase_period", "Time between increases.")
        .above_zero("50 us"),
    key<&DcqcnParameters::fast_recovery_stages>("fast_recovery_stages", "F of the publication.")
        .range(0, 1'000),
    bytes<&DcqcnParameters::byte_counter>("byte_counter",
                                          "Bytes between increases; 0 B: time alone counts."),
    key<&DcqcnParameters::additive_per_line>("additive_per_line", "Additive increase / line rate.")
        .range(0, 1),
    key<&DcqcnParameters::hyper_per_line>("hyper_per_line", "Hyper increase / line rate.")
        .range(0, 1),
    key<&DcqcnParameters::rate_min>("rate_min", "Least rate of a flow."),
    key<&DcqcnParameters::clamp_target>("clamp_target",
                                        "A decrease in the first stage lowers the target too."),
    key<&DcqcnParameters::cnp_interval>(
        "cnp_interval", "A receiver's least time between notifications of a flow; 0 s: none."),
};
constexpr Key kDctcpRows[] = {
    gain(key<&DctcpParameters::gain>("gain", "g of RFC 8257.")),
    key<&DctcpParameters::increase>("increase", "Increase in each window."),
    key<&DctcpParameters::rate_min>("rate_min", "Least rate of a flow."),
};
// Keys of Swift, also for MegaScale's control, which builds on it. `kPath` leads to Swift's
// parameters.
template <auto... kPath>
constexpr std::array<Key, 9> swift_rows() {
    return {
        key<kPath..., &SwiftParameters::base_target>(
            "base_target", "Target of the delay; 0 s: the network's base RTT."),
        key<kPath..., &SwiftParameters::hop_share>("hop_share",
                                                   "Share of the base target for each switch.")
            .range(0, 10),
        key<kPath..., &SwiftParameters::range>("range",
                                               "Flow scaling adds at most this many base targets.")
            .range(0, 1'000),
        key<kPath..., &SwiftParameters::increase>("increase", "Additive increase.")
            .range(0, 1'000)
            .of("packets"),
        key<kPath..., &SwiftParameters::decrease>("decrease",
                                                  "Gain of the multiplicative decrease.")
            .range(0, 1),
        key<kPath..., &SwiftParameters::decrease_max>("decrease_max", "Largest decrease.")
            .range(0, 0.99),
        key<kPath..., &SwiftParameters::window_start>("window_start", "First window; 0: line rate.")
            .range(0, 1e6)
            .of("packets"),
        key<kPath..., &SwiftParameters::window_min>("window_min", "Least window.")
            .range(1e-4, 1e6)
            .of("packets"),
        key<kPath..., &SwiftParameters::window_max>("window_max", "Largest window.")
            .range(1, 1e6)
            .of("packets"),
    };
}
constexpr std::array kSwiftRows = swift_rows<>();
constexpr std::array kMegascaleRows = [] {
    std::array<Key, kSwiftRows.size() + 1> rows{};
    rows[0] = gain(key<&MegaScaleParameters::gain>("gain", "Gain of the share of marks."));
    std::ranges::copy(swift_rows<&MegaScaleParameters::delay>(), rows.begin() + 1);
    return rows;
}();
constexpr Key kHpccRows[] = {
    key<&HpccParameters::eta>("eta", "Target utilisation of a link.").range(0.1, 1),
    key<&HpccParameters::stages_max>("stages_max", "Additive steps between multiplicative ones.")
        .range(0, 1'000),
    key<&HpccParameters::increase_per_line>("increase_per_line", "W_AI / line rate.").range(0, 1),
    key<&HpccParameters::rate_min>("rate_min", "Least rate of a flow."),
};
constexpr Key kNsccRows[] = {
    key<&NsccParameters::target_share>(
        "target_share", "Target of the queueing delay / base RTT; 0: 0.75 if trimming, else 1.")
        .range(0, 100),
    key<&NsccParameters::proportional>("proportional",
                                       "Packets that a base RTT adds at zero delay.")
        .range(0, 1'000),
    key<&NsccParameters::fair>("fair", "Gain of the fair increase.").range(0, 1'000),
    key<&NsccParameters::additive>("additive", "Packets that a base RTT adds always.")
        .range(0, 1'000),
    key<&NsccParameters::decrease>("decrease", "Gain of the multiplicative decrease.").range(0, 1),
    key<&NsccParameters::decrease_max>("decrease_max", "Largest decrease.").range(0.01, 1),
    key<&NsccParameters::quick_adapt>("quick_adapt",
                                      "The window falls at once to what was delivered."),
    key<&NsccParameters::window_max>("window_max", "Largest window / BDP.").range(0.1, 100),
};

}  // namespace

const KeyTable<DcqcnParameters> kDcqcnKeys = key_table<DcqcnParameters>("dcqcn", kDcqcnRows);
const KeyTable<DctcpParameters> kDctcpKeys = key_table<DctcpParameters>("dctcp", kDctcpRows);
const KeyTable<SwiftParameters> kSwiftKeys = key_table<SwiftParameters>("swift", kSwiftRows);
const KeyTable<HpccParameters> kHpccKeys = key_table<HpccParameters>("hpcc", kHpccRows);
const KeyTable<NsccParameters> kNsccKeys = key_table<NsccParameters>("nscc", kNsccRows);
const KeyTable<MegaScaleParameters> kMegascaleKeys =
    key_table<MegaScaleParameters>("megascale", kMegascaleRows);

bool is_chosen(MapReader& packet,
               std::string_view key,
               packet::CongestionKind kind,
               packet::CongestionKind chosen) {
    if (packet.find(key) == nullptr || kind == chosen) {
        return packet.has(key);
    }
    packet.complain(key,
                    fmt::format("{} is not the congestion control that was chosen, {}",
                                packet.full_name(key),
                                word_of(chosen, kCongestionKinds)),
                    fmt::format("congestion: {}", word_of(kind, kCongestionKinds)));
    return false;
}

}  // namespace orrery
