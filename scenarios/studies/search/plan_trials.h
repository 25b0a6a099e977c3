// SPDX-License-Identifier: Apache-2.0
// Times and simulates candidates of a search, several at a time. The result of a plan does not
// depend on other trials, on the order or on the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "scenarios/studies/search/candidate.h"
#include "scenarios/studies/search/plan_timer.h"

namespace orrery {

class PlanTrials {
public:
    // A plan's simulation, and its goodput if that is the objective and the plan fits.
    struct Trial {
        Result<Answer> answer{};
        double goodput = 1;
    };

    // `costs`: by SearchSpec::clusters. All arguments must outlive the trials. `jobs`: threads; 0:
    // one a core.
    PlanTrials(const Scenario& scenario,
               const SearchSpec& spec,
               std::span<const std::unique_ptr<ClusterCosts>> costs,
               std::uint32_t jobs,
               std::optional<EfficiencyTable> step_table = {});

    // The numbers of plans that should be timed, or simulated, in one call.
    std::size_t timed_together() const { return jobs_ == 1 ? 1 : std::size_t{16} * jobs_; }
    std::size_t simulated_together() const { return jobs_; }

    // Step times without contention; empty for plans that do not fold (plan_timer.h).
    std::vector<std::optional<Time>> folded_steps(std::span<const Candidate* const> plans);
    // On this network; a plan that does not fit is not simulated (SimulationOptions::only_if_fits).
    std::vector<Trial> simulate(std::span<const Candidate* const> plans, NetworkFidelity network);

private:
    Trial simulate(const Candidate& plan, NetworkFidelity network) const;
    PlanTimer& timer_of(std::size_t cluster, std::size_t thread);

    const Scenario& scenario_;
    const SearchSpec& spec_;
    std::span<const std::unique_ptr<ClusterCosts>> costs_;
    std::uint32_t jobs_;
    std::optional<EfficiencyTable> step_table_;       // nothing: the catalogue's
    std::vector<std::unique_ptr<PlanTimer>> timers_;  // by cluster, then thread; null until used
};

}  // namespace orrery
