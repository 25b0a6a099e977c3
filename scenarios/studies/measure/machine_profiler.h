// SPDX-License-Identifier: Apache-2.0
// Measures this machine's kernels, collectives and host by real training steps of small models
// (profile_cases.h) or of one scenario. In real steps a kernel has the executor's own operands,
// threads and neighbours, and finds the caches as they are there.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "kernels/profile.h"
#include "scenarios/format/provenance/provenance.h"
#include "scenarios/format/specs/fault_use.h"

namespace orrery {

struct ProfileSpec {
    std::string device = "cpu";  // or "cuda"
    std::string output;          // the profile (CSV)
    std::string scenario;        // whose shapes are measured; empty: the small models
    std::vector<std::string> overrides;
    std::uint32_t ranks_max = 0;  // 0: as many as there are cores, or GPUs
};

struct MeasuredMachine {
    MachineProfile profile;
    Provenance made_of = provenance_of("profile");
    std::vector<FaultLeftOut> faults_left_out;  // of the scenario
    bool interrupted = false;                   // by a signal; what was measured before counts
};

// Starts this program's `train` in as many processes as there are ranks. Writes `spec.output` after
// each run, and ends early after a signal; `progress` gets the share of the runs that is done.
ResultOrErrors<MeasuredMachine> profile_machine(const ProfileSpec& spec,
                                                const std::function<void(double)>& progress);

}  // namespace orrery
