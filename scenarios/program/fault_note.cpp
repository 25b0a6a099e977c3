// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/fault_note.h"

#include "scenarios/format/read/old_keys.h"
#include "scenarios/report/render/terminal.h"

namespace orrery {

void note_old_keys(const Scenario& scenario) {
    const DocumentNode* cluster =
        scenario.document != nullptr ? scenario.document->find("cluster") : nullptr;
    if (cluster != nullptr) {
        DocumentNode read = *cluster;
        for (const std::string& line : rename_old_keys(read, "cluster")) {
            print_note(line);
        }
    }
}

void note_faults_left_out(const Scenario& scenario, FaultUser user) {
    note_old_keys(scenario);
    note_faults_left_out(faults_left_out(scenario.faults.entries, user));
}

void note_faults_left_out(const std::vector<FaultLeftOut>& left_out) {
    if (!left_out.empty()) {
        print_note(faults_left_out_line(left_out));
    }
}

}  // namespace orrery
