// SPDX-License-Identifier: Apache-2.0
// The keys of the congestion controls within network.packet.
#pragma once

#include "network/packet/parameters.h"
#include "scenarios/format/read/key_table.h"
#include "scenarios/format/specs/network_settings.h"

namespace orrery {

extern const KeyTable<DcqcnParameters> kDcqcnKeys;
extern const KeyTable<DctcpParameters> kDctcpKeys;
extern const KeyTable<SwiftParameters> kSwiftKeys;
extern const KeyTable<HpccParameters> kHpccKeys;
extern const KeyTable<NsccParameters> kNsccKeys;
extern const KeyTable<MegaScaleParameters> kMegascaleKeys;

// Whether the map `key` exists and belongs to the chosen algorithm. An error if it belongs to
// another one.
bool is_chosen(MapReader& packet,
               std::string_view key,
               packet::CongestionKind kind,
               packet::CongestionKind chosen);

// The map of a congestion control in network.packet.
template <packet::CongestionKind kKind, auto kMember, class Table>
constexpr Key control(std::string_view name, const Table& table, std::string_view meaning) {
    Key row = part<&PacketSettings::parameters, kMember>(name, table, meaning);
    row.read = [](MapReader& reader, const Key& of, void* object) {
        auto& p = static_cast<PacketSettings*>(object)->parameters;
        return is_chosen(reader, of.name, kKind, p.congestion) &&
               read_part(reader, of, &(p.*kMember));
    };
    return row;
}

}  // namespace orrery
