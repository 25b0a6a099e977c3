// SPDX-License-Identifier: Apache-2.0
// Which commands use which entries of a scenario's list `faults`. One scenario may serve several
// commands; each says what it leaves out. The one table of this is fault_use.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/faults/fault_process.h"

namespace orrery {

// When an entry's faults come.
enum class FaultForm : std::uint8_t {
    standing,  // from the start on: neither t, step, time nor process
    at_time,   // t: after so long a training
    at_step,   // step: in the middle of the step after this many
    in_step,   // time: so long after a step's begin
    process,   // process: again and again, or a catalogue of such classes
    trace,     // process: trace
    bursts,    // daily_variance: of the counts of all processes
};
inline constexpr std::size_t kNumFaultForms = 7;
// The key that makes it: "t", "step"; of standing faults "from the start on".
std::string_view name(FaultForm form);
FaultForm form_of(const FaultProcess& process);

// An entry of the list, or the part of one that has this form.
struct FaultEntry {
    std::string path;  // "faults[2]"
    std::string what;  // "gpu_lost", or a catalogue's name
    FaultForm form = FaultForm::standing;
    FaultKind kind = FaultKind::node_crash;  // of a catalogue: of its first class
    bool operator==(const FaultEntry&) const = default;
};

// Commands that use the same entries are one user.
enum class FaultUser : std::uint8_t {
    step,            // simulate, explain, sweep, diagnose of a scenario
    campaign,        // campaign
    search,          // search by anything but goodput
    search_goodput,  // search by goodput
    network,         // network, replay
    real_run,        // train, profile, diagnose --nproc
    drill,           // train --supervise
    recorded_run,    // compare, calibrate, diagnose of a recorded run
    serving,         // serve
};
inline constexpr std::size_t kNumFaultUsers = 9;

// Whether a fault of this kind stops or slows instances that serve, or transfers between them.
bool acts_on_instances(FaultKind kind);

// Empty: the user uses such an entry; else why it does not, and where it counts.
std::string_view why_left_out(FaultUser user, FaultForm form, FaultKind kind);

struct FaultLeftOut {
    FaultEntry entry;
    std::string why;
    bool operator==(const FaultLeftOut&) const = default;
};
std::vector<FaultLeftOut> faults_left_out(const std::vector<FaultEntry>& entries, FaultUser user);
// "faults left out: faults[0] (gpu_lost, t) and faults[2] (node_crash, step): …; …", in one line;
// empty if none is.
std::string faults_left_out_line(const std::vector<FaultLeftOut>& left_out);

}  // namespace orrery
