// SPDX-License-Identifier: Apache-2.0
// Reports and JSON of validations: predictions beside measurements, and the accuracy of fits. The
// keys of the JSON differ from report/render/json_report.h.
#pragma once

#include <string>

#include "scenarios/report/render/report.h"
#include "scenarios/studies/fit/fit_study.h"
#include "scenarios/studies/validate/calibration_fit.h"
#include "scenarios/studies/validate/explained_error.h"
#include "scenarios/studies/validate/operations/collective_cases.h"
#include "scenarios/studies/validate/served/serving_validation.h"
#include "scenarios/studies/validate/timed_rows.h"
#include "scenarios/studies/validate/validation.h"

namespace orrery {

// Predicted steps beside published ones, and the errors of each family.
Report validation_sections(const Validation& validation);

// Published collectives beside predicted ones, and the errors of each family.
Report collective_sections(const CollectiveValidation& validation);

// Published single operations beside predicted ones, and the errors of each family: sections, and
// one JSON object (docs/schema/validate_operations.schema.json).
Report timed_sections(const TimedValidation& validation);
std::string json_report(const TimedValidation& validation);

// Predicted serving beside published measurements and the closed form.
Report serving_validation_sections(const ServingValidation& validation);
// Seconds and tokens a second; docs/schema/validate_serving.schema.json.
std::string serving_validation_json(const ServingValidation& validation);

// The parts of one published case's prediction (studies/validate/explained_error.h).
Report explained_error_sections(const ExplainedError& explained);
std::string explained_error_json(const ExplainedError& explained);

// The accuracy of predictions after a few measured steps of a family, as a report and as JSON: that
// of the validation with a member `calibrated`.
Report calibration_sections(const CalibratedValidation& validation);
std::string calibration_json(const Validation& validation, const CalibratedValidation& calibrated);

// The accuracy of fitted factors on the fitted steps and on others.
Report step_fit_sections(const FittedSteps& fitted);
Report kernel_fit_sections(const KernelFit& fit);

}  // namespace orrery
