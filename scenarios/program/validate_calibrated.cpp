// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/validate.h"
#include "scenarios/report/validation_report.h"
#include "scenarios/studies/validate/calibrated_steps.h"

namespace orrery {

ResultOrErrors<StudyOutput> calibrated_output(const ValidateArguments& arguments,
                                              const std::vector<PublishedCase>& cases,
                                              const Validation& validation,
                                              const std::function<void(double)>& progress) {
    const auto calibrated = calibrate_with_steps(cases,
                                                 validation,
                                                 {.table = arguments.file,
                                                  .given = arguments.calibrate_with,
                                                  .draws = arguments.draws,
                                                  .seed = arguments.seed,
                                                  .jobs = arguments.jobs,
                                                  .make_calibration = !arguments.output.empty(),
                                                  .progress = progress});
    if (!calibrated) {
        return unexpected<Errors>(Errors{calibrated.error()});
    }
    return StudyOutput{.report = calibration_sections(calibrated->validation),
                       .json = calibration_json(validation, calibrated->validation),
                       .provenance = {},
                       .product = calibrated->calibration};
}

}  // namespace orrery
