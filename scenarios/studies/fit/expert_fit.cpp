// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/fit/expert_fit.h"

#include <cmath>
#include <optional>
#include <utility>

#include "engine/base/parallel.h"
#include "scenarios/studies/simulate/simulate_scenario.h"

namespace orrery {

Result<FamilyErrors> expert_errors(const std::vector<PublishedCase>& cases,
                                   const Catalogue& catalogue,
                                   const EfficiencyTable& table,
                                   std::uint32_t jobs) {
    std::vector<Result<std::optional<double>>> found(cases.size());
    for_each_index(cases.size(), jobs, [&](std::size_t i) {
        const PublishedCase& row = cases[i];
        Result<Scenario> scenario = scenario_of(row, catalogue);
        if (row.model.num_experts == 0 || !scenario) {
            return;
        }
        scenario->network = NetworkFidelity::analytic;
        const Result<Answer> answer = simulate_scenario(*scenario, {.step_table = table});
        if (!answer) {
            found[i] = tl::unexpected(answer.error());
            return;
        }
        found[i] = std::log(answer->iteration.seconds() / row.measured_s);
    });
    FamilyErrors errors;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        if (!found[i]) {
            return tl::unexpected(std::move(found[i]).error());
        }
        if (*found[i]) {
            errors[cases[i].family].push_back(**found[i]);
        }
    }
    return errors;
}

}  // namespace orrery
