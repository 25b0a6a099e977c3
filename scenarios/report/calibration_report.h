// SPDX-License-Identifier: Apache-2.0
// What a few measured steps of a family are worth for predicting its others, for people and as
// JSON: that of the validation with a member `calibrated`.
#pragma once

#include <string>

#include "scenarios/report/report.h"
#include "scenarios/studies/validate/calibration_fit.h"
#include "scenarios/studies/validate/validation.h"

namespace orrery {

Report calibration_sections(const CalibratedValidation& validation);
std::string calibration_json(const Validation& validation, const CalibratedValidation& calibrated);

}  // namespace orrery
