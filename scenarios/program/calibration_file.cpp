// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/calibration_file.h"

#include <fmt/format.h>

#include <filesystem>

#include "scenarios/format/read/read_calibration.h"
#include "scenarios/report/render/terminal.h"
#include "scenarios/studies/simulate/software.h"

namespace orrery {
namespace {

void note_differences(const std::string& file,
                      const Calibration& calibration,
                      const Scenario& scenario) {
    if (calibration.generation != scenario.device.generation) {
        print_note(
            fmt::format("{}: measured on {} devices; the scenario's are {}, and nothing "
                        "changes",
                        file,
                        calibration.generation,
                        scenario.device.generation));
    } else if (calibration.software != software_of(scenario.software)) {
        print_note(
            fmt::format("{}: measured with {}; the scenario's software is {}, and its "
                        "interval stays as wide",
                        file,
                        calibration.software,
                        scenario.software.empty() ? "not stated" : software_of(scenario.software)));
    }
}

}  // namespace

ResultOrErrors<EfficiencyTable> calibrated_step_table(const std::string& file,
                                                      const Scenario* scenario) {
    if (scenario != nullptr && !file.empty()) {
        if (const auto calibration = read_calibration(file)) {
            note_differences(file, *calibration, *scenario);
        }
    }
    return read_step_table(file);
}

Provenance& add_calibration(Provenance& provenance, const std::string& file) {
    if (file.empty()) {
        return provenance;
    }
    const std::string name = std::filesystem::path{file}.filename().string();
    return provenance.add_option(std::string{kCalibrationOption}, name).add_input(file);
}

}  // namespace orrery
