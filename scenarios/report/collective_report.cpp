// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "scenarios/report/validation_report.h"

namespace orrery {
namespace {

std::vector<Cell> family_row(const CollectiveFamily& family) {
    const auto known = [](std::size_t rows, double error) {
        return rows > 0 ? Cell{error} : Cell{};
    };
    return {family.name,
            family.rows_small,
            known(family.rows_small, family.median_small),
            family.rows_large,
            known(family.rows_large, family.median_large),
            known(family.rows_large, family.max_large)};
}

}  // namespace

Report collective_sections(const CollectiveValidation& validation) {
    ReportSection rows{.title = "Collectives"};
    rows.table.columns = {{"case"},
                          {"size", Unit::bytes},
                          {"measured", Unit::seconds},
                          {"predicted", Unit::seconds},
                          {"error", Unit::change},
                          {"as"}};
    for (const ValidatedCollective& row : validation.rows) {
        rows.table.rows.push_back({row.of.family(),
                                   row.of.bytes,
                                   row.of.measured_us * 1e-6,
                                   row.predicted_us * 1e-6,
                                   row.error(),
                                   row.algorithm + " " + row.protocol});
    }
    ReportSection families{.title = "Families, below and from 1 MiB"};
    families.table.columns = {{"family"},
                              {"rows below", Unit::count},
                              {"median below", Unit::share},
                              {"rows from", Unit::count},
                              {"median from", Unit::share},
                              {"max from", Unit::share}};
    for (const CollectiveFamily& family : validation.families) {
        families.table.rows.push_back(family_row(family));
    }
    families.table.rows.push_back(family_row(validation.all));
    ReportSection skipped{.title = "Not expressible",
                          .table = {.columns = {{"family"}, {"reason"}}}};
    for (const SkippedCollective& family : validation.skipped) {
        skipped.table.rows.push_back({family.family, family.reason});
    }
    return {.title = "Predicted and published times of collectives",
            .sections = {std::move(rows), std::move(families), std::move(skipped)}};
}

}  // namespace orrery
