// SPDX-License-Identifier: Apache-2.0
// `orrery validate TABLE --calibrate-with K`: what K measured steps of a family are worth for the
// others, and the calibration that they make.
#pragma once

#include <vector>

#include "scenarios/format/provenance/provenance.h"
#include "scenarios/program/validate.h"
#include "scenarios/studies/validate/published_cases.h"
#include "scenarios/studies/validate/validation.h"

namespace orrery {

// `validation`: of the cases, without a calibration. Returns the exit status.
int calibrate_with_steps(const ValidateArguments& arguments,
                         const std::vector<PublishedCase>& cases,
                         const Validation& validation,
                         const Provenance& made_of);

}  // namespace orrery
