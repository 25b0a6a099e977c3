// SPDX-License-Identifier: Apache-2.0
// The words of a fabric and of its congestion control, for readers and writers.
#pragma once

#include <string_view>

#include "engine/base/field.h"
#include "network/fabric/cluster_spec.h"
#include "network/packet/parameters.h"
#include "scenarios/format/specs/network_settings.h"

namespace orrery {

inline constexpr Choice<NetworkFidelity> kFidelities[] = {
    {"analytic", NetworkFidelity::analytic},
    {"fluid", NetworkFidelity::fluid},
    {"packet", NetworkFidelity::packet},
    {"simgrid", NetworkFidelity::simgrid},
};

inline constexpr Choice<FabricKind> kFabricKinds[] = {
    {"clos", FabricKind::clos},
    {"rail", FabricKind::rail},
    {"single_switch", FabricKind::single_switch},
    {"file", FabricKind::file},
};

inline constexpr Choice<NicClass> kNicClasses[] = {
    {"infiniband", NicClass::infiniband},
    {"roce", NicClass::roce},
    {"ethernet", NicClass::ethernet},
};

inline constexpr Choice<RoutingKind> kRoutingKinds[] = {
    {"ecmp", RoutingKind::ecmp},
    {"spray", RoutingKind::spray},
    {"static_rail", RoutingKind::static_rail},
    {"adaptive", RoutingKind::adaptive},
};

inline constexpr Choice<packet::CongestionKind> kCongestionKinds[] = {
    {"none", packet::CongestionKind::none},
    {"nscc", packet::CongestionKind::nscc},
    {"uec_dctcp", packet::CongestionKind::uec_dctcp},
    {"credits", packet::CongestionKind::credits},
    {"dcqcn", packet::CongestionKind::dcqcn},
    {"dctcp", packet::CongestionKind::dctcp},
    {"swift", packet::CongestionKind::swift},
    {"hpcc", packet::CongestionKind::hpcc},
    {"megascale", packet::CongestionKind::megascale},
};

}  // namespace orrery
