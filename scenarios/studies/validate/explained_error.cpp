// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/explained_error.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "scenarios/format/document/nearest.h"
#include "scenarios/studies/simulate/simulate_scenario.h"

namespace orrery {
namespace {

Result<Answer> simulate_row(const PublishedCase& row) {
    const Result<Scenario> scenario = scenario_of(row, Catalogue{default_catalogue()});
    return scenario ? simulate_scenario(*scenario) : unexpected<Error>(scenario.error());
}

ResultOrErrors<PublishedCase> find_case(const std::vector<std::string>& tables,
                                        const std::string& name) {
    std::vector<std::string> names;
    for (const std::string& table : tables) {
        const auto cases = read_published_cases(table);
        if (!cases) {
            return unexpected<Errors>(cases.error());
        }
        for (const PublishedCase& row : *cases) {
            if (row.name == name) {
                return row;
            }
            names.push_back(row.name);
        }
    }
    // A table has hundreds of names: the hint lists only near ones.
    const bool near = !nearest_names(name, names, 1).empty();
    const std::string hint =
        near ? nearest_hint(name, names) : "the column case of " + tables.front() + " has names";
    return unexpected<Errors>(Errors{{tables.size() == 1 ? tables.front() : "published tables",
                                      "there is no case '" + name + "'",
                                      hint}});
}

}  // namespace

double ExplainedError::change(const VariedInput& input) const {
    return input.answer ? input.answer->iteration / answer.iteration - 1 : 0;
}

ResultOrErrors<ExplainedError> explain_error(const std::vector<std::string>& tables,
                                             const std::string& name,
                                             const std::function<void(double)>& progress) {
    const auto row = find_case(tables, name);
    if (!row) {
        return unexpected<Errors>(row.error());
    }
    const Result<Answer> answer = simulate_row(*row);
    if (!answer) {
        return unexpected<Errors>(Errors{answer.error()});
    }
    ExplainedError explained{.row = *row, .answer = *answer, .validated = {}, .varied = {}};
    const std::vector<Alternative> others = alternatives(*row);
    for (const Alternative& other : others) {
        explained.varied.push_back({other, simulate_row(other.row)});
        progress(static_cast<double>(explained.varied.size()) / static_cast<double>(others.size()));
    }
    std::size_t next = 0;  // assumed_spread() asks in the order of `varied`
    const double spread = assumed_spread(
        *row, answer->iteration.seconds(), [&](const PublishedCase&) -> std::optional<double> {
            const Result<Answer>& known = explained.varied[next++].answer;
            return known && (known->memory.fits || !answer->memory.fits)
                       ? std::optional{known->iteration.seconds()}
                       : std::nullopt;
        });
    explained.validated = {.name = row->name,
                           .family = row->family,
                           .measured_s = row->measured_s,
                           .predicted_s = answer->iteration.seconds() * std::exp(answer->shift),
                           .sigma = std::hypot(answer->uncertainty, spread),
                           .shift = answer->shift};
    std::ranges::stable_sort(explained.varied, std::ranges::greater{}, [&](const auto& input) {
        return std::abs(explained.change(input));
    });
    return explained;
}

}  // namespace orrery
