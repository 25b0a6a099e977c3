// SPDX-License-Identifier: Apache-2.0
// What a congestion control makes of a pattern of transfers, measured on packets: the time of a
// transfer = its time at max-min fair shares / efficiency + queueing delay. Measured once on a
// small part of a fabric (scenarios/studies/network/congestion_study.h), kept in the catalogue, and
// applied by the fluid model of whole steps, whose own shares know of no algorithm.
#pragma once

#include <string>

#include "engine/base/units.h"
#include "network/fabric/cluster_spec.h"

namespace orrery {

struct CongestionFactor {
    double efficiency = 1;  // of fair shares, once flows have found their rates
    Time queueing_delay;    // once a transfer: queues, and rates that are still being found
    bool operator==(const CongestionFactor&) const = default;
};

struct CongestionFactors {
    std::string name;        // of the entry
    std::string algorithm;   // "dcqcn"
    FabricSpec measured_on;  // its shape alone (alike())
    CongestionFactor ring;   // rings and trees over nodes
    CongestionFactor all_to_all;
    CongestionFactor point_to_point;
};

// What the factors depend on. Two fabrics are alike if their links, oversubscription, tiers and
// routing are; sizes may differ. Empty, or the first key that differs.
std::string first_difference(const FabricSpec& a, const FabricSpec& b);

}  // namespace orrery
