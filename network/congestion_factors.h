// SPDX-License-Identifier: Apache-2.0
// The effect of a congestion control on a pattern of transfers, measured with packets: time of a
// transfer = its time at max-min fair shares / efficiency + queueing delay. The factors are
// measured once on a small part of a fabric (scenarios/studies/network/congestion_study.h) and
// stored in the catalogue. The fluid model of whole steps applies them, because its shares know no
// congestion control.
#pragma once

#include <string>

#include "engine/base/units.h"
#include "network/fabric/cluster_spec.h"

namespace orrery {

struct CongestionFactor {
    double efficiency = 1;  // fraction of the fair share, once flows have settled
    Time queueing_delay;    // per transfer: queues, and the time until rates settle
    bool operator==(const CongestionFactor&) const = default;
};

struct CongestionFactors {
    std::string name;        // of the catalogue's entry
    std::string algorithm;   // "dcqcn"
    FabricSpec measured_on;  // only its shape matters (first_difference())
    CongestionFactor ring;   // rings and trees over nodes
    CongestionFactor all_to_all;
    CongestionFactor point_to_point;
};

// The first key in which two fabrics differ as far as factors depend on it: links,
// oversubscription, tiers and routing, but not sizes. Empty if they are alike.
std::string first_difference(const FabricSpec& a, const FabricSpec& b);

}  // namespace orrery
