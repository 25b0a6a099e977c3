// SPDX-License-Identifier: Apache-2.0
// Reads a file of kind calibration (scenarios/format/specs/calibration.h).
#pragma once

#include <filesystem>
#include <string>

#include "engine/base/result.h"
#include "scenarios/format/read/key_table.h"
#include "scenarios/format/specs/calibration.h"

namespace orrery {

extern const KeyTable<Calibration> kCalibrationKeys;

ResultOrErrors<Calibration> read_calibration(const std::filesystem::path& file);

// The catalogue's factors of a step, combined with those of a calibration file unless the name is
// empty.
ResultOrErrors<EfficiencyTable> read_step_table(const std::string& calibration_file);

}  // namespace orrery
