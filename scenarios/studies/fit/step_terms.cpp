// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/fit/step_terms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/csv_rows.h"
#include "scenarios/studies/validate/published_cases.h"

namespace orrery {
namespace {

constexpr std::array<std::pair<const char*, RowTerms StepTerms::*>, 4> kFits{
    {{"steps", &StepTerms::steps},
     {"calls", &StepTerms::calls},
     {"unseen", &StepTerms::unseen},
     {"experts", &StepTerms::experts}}};

std::string digits_of_term(double value) {
    return fmt::format("{:.9g}", value);
}

std::set<std::string> names_of(const StepTerms& terms) {
    std::set<std::string> names;
    for (const auto& [fit, rows] : kFits) {
        for (const auto& [row, of_row] : terms.*rows) {
            for (const auto& [name, value] : of_row) {
                names.insert(name);
            }
        }
    }
    return names;
}

// Columns of the first line that is no comment.
std::vector<std::string> columns_of(const std::filesystem::path& file) {
    std::ifstream text{file};
    std::string line;
    while (std::getline(text, line) && line.starts_with('#')) {
    }
    return words_between(line, ',');
}

}  // namespace

double term(const Terms& terms, const std::string& name) {
    const auto found = terms.find(name);
    return found == terms.end() ? 0 : found->second;
}

double rounded_term(double value) {
    return parse_number(digits_of_term(value)).value_or(value);
}

std::string step_terms_csv(const StepTerms& terms, const std::string& command) {
    const std::set<std::string> names = names_of(terms);
    std::string text = fmt::format(
        "# What simulations give of each measured step (scenarios/studies/fit/step_terms.h). Made "
        "by:\n# orrery {}\nfit,case,{}\n",
        command,
        fmt::join(names, ","));
    for (const auto& [fit, rows] : kFits) {
        for (const auto& [row, of_row] : terms.*rows) {
            text += fmt::format("{},{}", fit, row);
            for (const std::string& name : names) {
                const double value = term(of_row, name);
                text += value == 0 ? "," : "," + digits_of_term(value);
            }
            text += '\n';
        }
    }
    return text;
}

ResultOrErrors<StepTerms> read_step_terms(const std::filesystem::path& file) {
    std::vector<std::string> columns{"fit", "case"};
    for (const std::string& column : columns_of(file)) {
        if (column != "fit" && column != "case") {
            columns.push_back(column);
        }
    }
    const auto rows = read_csv(file.string(), columns);
    if (!rows) {
        return unexpected<Errors>(rows.error());
    }
    StepTerms terms;
    Errors errors;
    for (const CsvRow& row : *rows) {
        const auto fit = std::ranges::find(
            kFits, row.fields[0], [](const auto& of) { return std::string_view{of.first}; });
        if (fit == kFits.end()) {
            errors.push_back({row.where,
                              fmt::format("no fit is called '{}'", row.fields[0]),
                              "steps, calls, unseen or experts"});
            continue;
        }
        Terms& of_row = (terms.*(fit->second))[row.fields[1]];
        for (std::size_t i = 2; i < columns.size(); ++i) {
            const auto value = parse_number(row.fields[i]);
            if (value) {
                of_row[columns[i]] = *value;
            } else if (!row.fields[i].empty()) {
                errors.push_back({row.where,
                                  fmt::format("{} '{}' is not a number", columns[i], row.fields[i]),
                                  ""});
            }
        }
    }
    return errors.empty() ? ResultOrErrors<StepTerms>{std::move(terms)}
                          : unexpected<Errors>(std::move(errors));
}

}  // namespace orrery
