// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/fault_note.h"

#include "scenarios/report/terminal.h"

namespace orrery {

void note_faults_left_out(const Scenario& scenario, FaultUser user) {
    note_faults_left_out(faults_left_out(scenario.faults.entries, user));
}

void note_faults_left_out(const std::vector<FaultLeftOut>& left_out) {
    if (!left_out.empty()) {
        print_note(faults_left_out_line(left_out));
    }
}

}  // namespace orrery
