// SPDX-License-Identifier: Apache-2.0
// Predicted serving beside published measurements and the closed form.
#pragma once

#include <string>

#include "scenarios/report/report.h"
#include "scenarios/studies/validate/serving_validation.h"

namespace orrery {

Report serving_validation_sections(const ServingValidation& validation);
// Seconds and tokens a second; docs/schema/validate_serving.schema.json.
std::string serving_validation_json(const ServingValidation& validation);

}  // namespace orrery
