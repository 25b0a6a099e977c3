// SPDX-License-Identifier: Apache-2.0
// The commands that use each entry of a scenario's list `faults`. Several commands may share one
// scenario; each reports the entries that it does not use. fault_use.cpp has the only table of
// this.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/faults/fault_process.h"

namespace orrery {

// The time at which an entry's faults occur.
enum class FaultForm : std::uint8_t {
    standing,  // from the start: without t, step, time and process
    at_time,   // t: after this time of training
    at_step,   // step: in the middle of the step after this number of steps
    in_step,   // time: after this time from a step's beginning
    process,   // process: repeatedly; also a catalogue of such classes
    trace,     // process: trace
    bursts,    // daily_variance: of the numbers of all processes
};
inline constexpr std::size_t kNumFaultForms = 7;
// The key that chooses the form: "t", "step"; for standing faults "from the start on".
std::string_view name(FaultForm form);
FaultForm form_of(const FaultProcess& process);

// An entry of the list, or the part of an entry that has this form.
struct FaultEntry {
    std::string path;  // "faults[2]"
    std::string what;  // "gpu_lost", or a catalogue's name
    FaultForm form = FaultForm::standing;
    FaultKind kind = FaultKind::node_crash;  // for a catalogue the kind of its first class
    bool operator==(const FaultEntry&) const = default;
};

// The commands of one user use the same entries.
enum class FaultUser : std::uint8_t {
    step,            // simulate, explain, sweep, and diagnose for a scenario
    campaign,        // campaign
    search,          // search with any objective but goodput
    search_goodput,  // search with the objective goodput
    network,         // network, replay
    real_run,        // train, profile, diagnose --nproc
    drill,           // train --supervise
    recorded_run,    // compare, calibrate, and diagnose for a recorded run
    serving,         // serve
};
inline constexpr std::size_t kNumFaultUsers = 9;

// Whether a fault of this kind stops or slows serving instances, or transfers between them.
bool acts_on_instances(FaultKind kind);

// Empty if the user uses such an entry. Otherwise the reason, and the commands that use it.
std::string_view why_left_out(FaultUser user, FaultForm form, FaultKind kind);

struct FaultLeftOut {
    FaultEntry entry;
    std::string why;
    bool operator==(const FaultLeftOut&) const = default;
};
std::vector<FaultLeftOut> faults_left_out(const std::vector<FaultEntry>& entries, FaultUser user);
// "faults left out: faults[0] (gpu_lost, t) and faults[2] (node_crash, step): …; …", in one line;
// empty if the list is empty.
std::string faults_left_out_line(const std::vector<FaultLeftOut>& left_out);

}  // namespace orrery
