// SPDX-License-Identifier: Apache-2.0
#include "scenarios/program/validate_serving.h"

#include <algorithm>

#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/document/nearest.h"
#include "scenarios/program/common_options.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/report/progress.h"
#include "scenarios/report/provenance_report.h"
#include "scenarios/report/serving_validation_report.h"

namespace orrery {
namespace {

Result<void> keep_families(const ValidateArguments& arguments, std::vector<ServingCase>& cases) {
    std::vector<std::string> known;
    for (const ServingCase& row : cases) {
        if (std::ranges::find(known, row.family) == known.end()) {
            known.push_back(row.family);
        }
    }
    for (const std::string& family : arguments.families) {
        if (std::ranges::find(known, family) == known.end()) {
            return fail(arguments.file,
                        "no case is of family '" + family + "'",
                        nearest_hint(family, known));
        }
    }
    if (!arguments.families.empty()) {
        std::erase_if(cases, [&](const ServingCase& row) {
            return std::ranges::find(arguments.families, row.family) == arguments.families.end();
        });
    }
    return {};
}

}  // namespace

int validate_serving_table(const ValidateArguments& arguments, const Provenance& provenance) {
    auto cases = read_serving_cases(arguments.file);
    const std::filesystem::path root = default_catalogue();
    const auto models = read_served_models((root / "published" / "serving_models.csv").string());
    if (!cases || !models) {
        return report_errors(!cases ? cases.error() : models.error());
    }
    if (const auto kept = keep_families(arguments, *cases); !kept) {
        return report_error(kept.error());
    }
    ProgressBar bar{"validating"};
    const ServingValidation validation =
        validate_serving(*cases,
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
