// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/measured_runs.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "kernels/csv_rows.h"
#include "scenarios/format/document/csv_header.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/studies/validate/published_cases.h"

namespace orrery {

bool is_run_table(const std::string& file) {
    const std::vector<std::string> columns = words_between(csv_header(file), ',');
    const auto has = [&](const char* name) {
        return std::ranges::find(columns, name) != columns.end();
    };
    return has("scenario") && has("measured_s") && !has("case");
}

ResultOrErrors<std::vector<MeasuredRun>> read_measured_runs(const std::string& file) {
    const auto rows = read_csv(file, {"scenario", "measured_s", "set=", "family="});
    if (!rows) {
        return unexpected<Errors>(rows.error());
    }
    std::vector<MeasuredRun> runs;
    Errors errors;
    for (const CsvRow& row : *rows) {
        const std::optional<double> measured_s = parse_number(row.fields[1]);
        if (!measured_s || *measured_s <= 0) {
            errors.push_back({row.where,
                              "measured_s can't be '" + row.fields[1] + "'",
                              "seconds of one step, more than 0"});
            continue;
        }
        const auto scenario =
            read_scenario(std::filesystem::path{file}.parent_path() / row.fields[0],
                          {.overrides = words_between(row.fields[2], ';')});
        if (!scenario) {
            errors.insert(errors.end(), scenario.error().begin(), scenario.error().end());
            continue;
        }
        MeasuredRun run{.name = row.fields[0],
                        .family = row.fields[3].empty() ? scenario->name : row.fields[3],
                        .scenario = std::move(*scenario),
                        .measured_s = *measured_s};
        run.name += row.fields[2].empty() ? "" : " " + row.fields[2];
        runs.push_back(std::move(run));
    }
    if (errors.empty() && runs.empty()) {
        errors.push_back({file, "the table has no rows", "a line for each measured step"});
    }
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    return runs;
}

}  // namespace orrery
