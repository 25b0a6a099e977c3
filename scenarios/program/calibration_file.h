// SPDX-License-Identifier: Apache-2.0
// The file behind --calibration: the factors that a prediction uses with it, and what a result says
// of it.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/result.h"
#include "kernels/efficiency_table.h"
#include "scenarios/format/provenance/provenance.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

inline constexpr std::string_view kCalibrationOption = "calibration";  // of a provenance

// The catalogue's factors of a step, with those of the file if it is named. Notes on standard
// error where the calibration is of other devices or other software than the scenario's.
ResultOrErrors<EfficiencyTable> calibrated_step_table(const std::string& file,
                                                      const Scenario* scenario = nullptr);

// Returns the same provenance.
Provenance& add_calibration(Provenance& provenance, const std::string& file);

}  // namespace orrery
