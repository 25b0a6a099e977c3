// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <utility>

#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/program/exit_status.h"
#include "scenarios/program/row_families.h"
#include "scenarios/program/validate.h"
#include "scenarios/report/memory_report.h"
#include "scenarios/report/render/json_report.h"
#include "scenarios/report/validation_report.h"
#include "scenarios/studies/validate/memory_cases.h"
#include "scenarios/studies/validate/operations/collective_cases.h"
#include "scenarios/studies/validate/operations/exchange_cases.h"
#include "scenarios/studies/validate/operations/layer_cases.h"
#include "scenarios/studies/validate/served/serving_cases.h"
#include "scenarios/studies/validate/served/serving_kernel_cases.h"
#include "scenarios/studies/validate/served/serving_validation.h"

namespace orrery {
namespace {

Report sections_of(const TimedValidation& validation) {
    return timed_sections(validation);
}
Report sections_of(const MemoryValidation& validation) {
    return memory_sections(validation);
}
Report sections_of(const CollectiveValidation& validation) {
    return collective_sections(validation);
}

template <class Cases, class Validate>
ResultOrErrors<StudyOutput> validate_operations(const ResultOrErrors<Cases>& cases,
                                                Validate validate) {
    if (!cases) {
        return unexpected<Errors>(cases.error());
    }
    const auto validation = validate(*cases, default_catalogue());
    if (!validation) {
        return unexpected<Errors>(Errors{validation.error()});
    }
    return StudyOutput{.report = sections_of(*validation),
                       .json = json_report(*validation),
                       .provenance = {},
                       .status = validation->rows.empty() ? kExitUserError : kExitOk};
}

ResultOrErrors<StudyOutput> validate_served(const ValidateArguments& arguments,
                                            const std::function<void(double)>& progress) {
    auto cases = read_serving_cases(arguments.file);
    const std::filesystem::path root = default_catalogue();
    const auto models = read_served_models((root / "published" / "serving_models.csv").string());
    if (!cases || !models) {
        return unexpected<Errors>(!cases ? cases.error() : models.error());
    }
    const auto chosen = rows_of_families(arguments, std::move(*cases));
    if (!chosen) {
        return unexpected<Errors>(Errors{chosen.error()});
    }
    const ServingValidation validation =
        validate_serving(*chosen,
                         *models,
                         {.catalogue = root,
                          .traces = std::filesystem::path{arguments.file}.parent_path() / "traces",
                          .jobs = arguments.jobs,
                          .progress = progress});
    return StudyOutput{.report = serving_validation_sections(validation),
                       .json = serving_validation_json(validation),
                       .provenance = {},
                       .status = validation.rows.empty() ? kExitUserError : kExitOk};
}

}  // namespace

bool is_table_of_operations(const std::string& file) {
    return is_collective_table(file) || is_exchange_table(file) || is_layer_table(file) ||
           is_serving_table(file) || is_serving_kernel_table(file) || is_memory_table(file);
}

ResultOrErrors<StudyOutput> validate_table(const ValidateArguments& arguments,
                                           const std::function<void(double)>& progress) {
    const std::string& file = arguments.file;
    if (!arguments.assume.empty()) {
        return unexpected<Errors>(
            Errors{{"--assume", "only a table of training steps assumes values", {}}});
    }
    if (is_serving_table(file)) {
        return validate_served(arguments, progress);
    }
    if (is_memory_table(file)) {
        return validate_operations(read_memory_cases(file), validate_memory);
    }
    if (is_exchange_table(file)) {
        return validate_operations(read_exchange_cases(file), validate_exchanges);
    }
    if (is_layer_table(file)) {
        return validate_operations(read_layer_cases(file), validate_layers);
    }
    return is_serving_kernel_table(file)
               ? validate_operations(read_serving_kernel_cases(file), validate_serving_kernels)
               : validate_operations(read_collective_cases(file), validate_collectives);
}

}  // namespace orrery
