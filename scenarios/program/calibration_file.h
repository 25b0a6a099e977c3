// SPDX-License-Identifier: Apache-2.0
// The file of --calibration: its factors for predictions, and its entry in the provenance of
// results.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/result.h"
#include "kernels/efficiency_table.h"
#include "scenarios/format/provenance/provenance.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

// Key in the options of a provenance.
inline constexpr std::string_view kCalibrationOption = "calibration";

// The catalogue's factors of a step, combined with those of `file` unless it is empty. Prints notes
// on standard error if the calibration is for other devices or other software than the scenario's.
ResultOrErrors<EfficiencyTable> calibrated_step_table(const std::string& file,
                                                      const Scenario* scenario = nullptr);

// Adds the file and returns the same provenance.
Provenance& add_calibration(Provenance& provenance, const std::string& file);

}  // namespace orrery
