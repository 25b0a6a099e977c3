// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/failures.h"

namespace orrery {

void tell_what(const Failures& failures, Observation& o) {
    o.kind = ObservationKind::fault_detected;
    if (!failures.lost.empty()) {
        o.nodes = failures.lost;
        o.detector = Detector::heartbeat;
        o.fault = FaultKind::node_crash;
    } else if (failures.wrong_numbers) {
        // The source is unknown, because a sum mixes the numbers of all ranks.
        o.kind = ObservationKind::corruption_found;
        o.nodes.clear();
        o.detector = Detector::anomaly;
        o.fault = FaultKind::loss_spike;
        o.verified_step = o.step;
    } else if (!failures.errors.empty()) {
        o.nodes.clear();
        o.detector = Detector::exit_code;
        o.fault = FaultKind::software_bug;
    } else {
        o.nodes = failures.unreachable;
        o.detector = Detector::node_agent;
        o.fault = FaultKind::nic_down;
    }
}

}  // namespace orrery
