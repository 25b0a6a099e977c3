// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <utility>

#include "engine/base/check.h"
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

using Progress = std::function<void(double)>;

template <auto kRead, auto kValidate>
ResultOrErrors<StudyOutput> validate_operations(const ValidateArguments& arguments,
                                                const Progress& /*progress*/) {
    const auto cases = kRead(arguments.file);
    if (!cases) {
        return unexpected<Errors>(cases.error());
    }
    const auto validation = kValidate(*cases, default_catalogue());
    if (!validation) {
        return unexpected<Errors>(Errors{validation.error()});
    }
    return StudyOutput{.report = sections_of(*validation),
                       .json = json_report(*validation),
                       .provenance = {},
                       .status = validation->rows.empty() ? kExitUserError : kExitOk};
}

ResultOrErrors<StudyOutput> validate_served(const ValidateArguments& arguments,
                                            const Progress& progress) {
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

struct TableKind {
    bool (*is_kind_of)(const std::string& file);
    ResultOrErrors<StudyOutput> (*validate)(const ValidateArguments&, const Progress&);
};
constexpr TableKind kTables[] = {
    {is_serving_table, validate_served},
    {is_memory_table, validate_operations<read_memory_cases, validate_memory>},
    {is_exchange_table, validate_operations<read_exchange_cases, validate_exchanges>},
    {is_layer_table, validate_operations<read_layer_cases, validate_layers>},
    {is_serving_kernel_table,
     validate_operations<read_serving_kernel_cases, validate_serving_kernels>},
    {is_collective_table, validate_operations<read_collective_cases, validate_collectives>}};

// Null for tables of training steps.
const TableKind* table_kind(const std::string& file) {
    const auto* const kind =
        std::ranges::find_if(kTables, [&](const TableKind& each) { return each.is_kind_of(file); });
    return kind == std::end(kTables) ? nullptr : kind;
}

}  // namespace

bool is_table_of_operations(const std::string& file) {
    return table_kind(file) != nullptr;
}

ResultOrErrors<StudyOutput> validate_table(const ValidateArguments& arguments,
                                           const std::function<void(double)>& progress) {
    if (!arguments.assume.empty()) {
        return unexpected<Errors>(
            Errors{{"--assume", "only a table of training steps assumes values", {}}});
    }
    const TableKind* const kind = table_kind(arguments.file);
    ORRERY_CHECK(kind != nullptr);
    return kind->validate(arguments, progress);
}

}  // namespace orrery
