// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/validate_serving.h"

#include <utility>

#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/row_families.h"
#include "scenarios/report/progress.h"
#include "scenarios/report/provenance_report.h"
#include "scenarios/report/serving_validation_report.h"

namespace orrery {
int validate_serving_table(const ValidateArguments& arguments, const Provenance& provenance) {
    auto cases = read_serving_cases(arguments.file);
    const std::filesystem::path root = default_catalogue();
    const auto models = read_served_models((root / "published" / "serving_models.csv").string());
    if (!cases || !models) {
        return report_errors(!cases ? cases.error() : models.error());
    }
    const auto chosen = rows_of_families(arguments, std::move(*cases));
    if (!chosen) {
        return report_error(chosen.error());
    }
    ProgressBar bar{"validating"};
    const ServingValidation validation =
        validate_serving(*chosen,
                         *models,
                         {.catalogue = root,
                          .traces = std::filesystem::path{arguments.file}.parent_path() / "traces",
                          .jobs = arguments.jobs,
                          .progress = [&](double share) { bar.show(share); }});
    bar.finish();
    const int status = print_output(
        arguments.json ? with_provenance(serving_validation_json(validation), provenance)
                       : to_text(serving_validation_sections(validation)));
    return validation.rows.empty() ? kExitUserError : status;
}

}  // namespace orrery
