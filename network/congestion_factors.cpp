// SPDX-License-Identifier: Apache-2.0
#include "network/congestion_factors.h"

namespace orrery {
namespace {

Bandwidth uplink_of(const FabricSpec& f) {
    return f.uplink_bandwidth == Bandwidth{} ? f.nic_bandwidth : f.uplink_bandwidth;
}

Bandwidth core_link_of(const FabricSpec& f) {
    return f.core_bandwidth == Bandwidth{} ? uplink_of(f) : f.core_bandwidth;
}

}  // namespace

std::string first_difference(const FabricSpec& a, const FabricSpec& b) {
    if (a.kind != b.kind) {
        return "kind";
    }
    if (a.nic_bandwidth != b.nic_bandwidth) {
        return "nic_bandwidth";
    }
    if (a.kind == FabricKind::single_switch) {
        return {};
    }
    if (a.kind == FabricKind::file) {
        return "file";  // lists of cables have no common shape
    }
    const struct {
        const char* key;
        bool same;
    } keys[] = {
        {"tiers", a.tiers == b.tiers},
        {"multi_rail", a.kind == FabricKind::rail || a.multi_rail == b.multi_rail},
        {"uplink_bandwidth", uplink_of(a) == uplink_of(b)},
        {"oversubscription", a.oversubscription == b.oversubscription},
        {"core_bandwidth", a.tiers == 2 || core_link_of(a) == core_link_of(b)},
        {"spine_oversubscription",
         a.tiers == 2 || a.spine_oversubscription == b.spine_oversubscription},
        {"routing", a.routing == b.routing},
        {"qps_per_connection", a.qps_per_connection == b.qps_per_connection},
    };
    for (const auto& [key, same] : keys) {
        if (!same) {
            return key;
        }
    }
    return {};
}

}  // namespace orrery
