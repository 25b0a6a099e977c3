// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/explain/explain.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "engine/base/parallel.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/studies/simulate/simulate_scenario.h"

namespace orrery {
namespace {

constexpr double kWorthTelling = 0.001;

struct Tried {
    Change change;
    std::optional<Scenario> scenario{};  // empty: the change is refused
    bool fits = false;
    double tokens_per_s = 0;
    double gain = 0;
};

std::optional<Scenario> changed(const std::filesystem::path& file,
                                const ExplainOptions& options,
                                const Change& change) {
    ReadOptions read;
    read.overrides = options.overrides;
    read.overrides.insert(read.overrides.end(), change.overrides.begin(), change.overrides.end());
    auto scenario = read_scenario(file, read);
    return scenario ? std::optional{std::move(*scenario)} : std::nullopt;
}

Result<Answer> simulate_without_contention(Scenario scenario, const ExplainOptions& options) {
    scenario.network = NetworkFidelity::analytic;
    scenario.faults = {};
    return simulate_scenario(scenario, {.step_table = options.step_table, .only_if_fits = true});
}

Tried try_change(const std::filesystem::path& file,
                 const ExplainOptions& options,
                 const Change& change) {
    Tried tried{.change = change, .scenario = changed(file, options, change)};
    if (!tried.scenario) {
        return tried;
    }
    const auto answer = simulate_without_contention(*tried.scenario, options);
    if (answer) {
        tried.fits = answer->memory.fits;
        tried.tokens_per_s = answer->tokens_per_s;
    } else {
        tried.scenario.reset();
    }
    return tried;
}

// SimGrid has one engine per process.
std::uint32_t jobs_on(NetworkFidelity network, std::uint32_t jobs) {
    return network == NetworkFidelity::simgrid ? 1 : jobs;
}

// The changes of a kind with the largest gains.
std::vector<const Tried*> most_promising(const std::vector<Tried>& tried,
                                         ChangeKind kind,
                                         std::size_t keep) {
    std::vector<const Tried*> of_kind;
    for (const Tried& one : tried) {
        if (one.change.kind == kind && one.gain > kWorthTelling) {
            of_kind.push_back(&one);
        }
    }
    std::ranges::stable_sort(of_kind, std::greater{}, &Tried::gain);
    of_kind.resize(std::min(of_kind.size(), keep));
    return of_kind;
}

// Simulates the most promising changes on the scenario's own network, the best of each kind first.
void add_suggestions(const std::vector<Tried>& tried,
                     const ExplainOptions& options,
                     NetworkFidelity network,
                     Explanation& explanation) {
    std::vector<const Tried*> chosen;
    for (const ChangeKind kind : {ChangeKind::plan, ChangeKind::batch, ChangeKind::hardware}) {
        std::ranges::copy(most_promising(tried, kind, options.keep), std::back_inserter(chosen));
    }
    std::vector<std::optional<Suggestion>> suggestions(chosen.size());
    for_each_index(chosen.size(), jobs_on(network, options.jobs), [&](std::size_t i) {
        const auto answer =
            simulate_scenario(*chosen[i]->scenario, {.step_table = options.step_table});
        if (!answer) {
            return;
        }
        Suggestion suggestion{.change = chosen[i]->change,
                              .gain = answer->tokens_per_s / explanation.answer.tokens_per_s - 1,
                              .iteration = answer->iteration,
                              .mfu = answer->mfu,
                              .peak_memory = answer->memory.peak,
                              .needed_memory = answer->memory.needed()};
        // If the scenario does not fit, every change with which it fits is useful, faster or not.
        if (suggestion.gain > kWorthTelling || !explanation.answer.memory.fits) {
            suggestions[i] = std::move(suggestion);
        }
    });
    for (auto& suggestion : suggestions) {
        if (suggestion) {
            explanation.suggestions.push_back(std::move(*suggestion));
        }
    }
    std::ranges::stable_sort(explanation.suggestions, [](const Suggestion& a, const Suggestion& b) {
        return std::pair{a.change.kind, b.gain} < std::pair{b.change.kind, a.gain};
    });
}

}  // namespace

ResultOrErrors<Explanation> explain_scenario(const std::filesystem::path& file,
                                             const ExplainOptions& options) {
    ReadOptions read;
    read.overrides = options.overrides;
    const auto scenario = read_scenario(file, read);
    if (!scenario) {
        return unexpected<Errors>(scenario.error());
    }
    const SimulationOptions simulation{.step_table = options.step_table};
    auto answer = simulate_scenario(*scenario, simulation);
    if (!answer) {
        return unexpected<Errors>({answer.error()});
    }
    Scenario alone = *scenario;
    alone.network = NetworkFidelity::analytic;
    const auto reference = simulate_scenario(alone, simulation);
    if (!reference) {
        return unexpected<Errors>({reference.error()});
    }
    Explanation explanation{.answer = std::move(*answer),
                            .provenance = provenance_of("explain", *scenario)};
    auto hot = hot_experts(*scenario, explanation.answer);
    if (!hot) {
        return unexpected<Errors>({hot.error()});
    }
    explanation.hot_experts = *hot;
    explanation.provenance.add_option("keep", std::to_string(options.keep));
    const bool fits = explanation.answer.memory.fits;
    const std::vector<Change> changes = possible_changes(*scenario);
    std::vector<Tried> tried(changes.size());
    for_each_index(
        changes.size(),
        options.jobs,
        [&](std::size_t i) { tried[i] = try_change(file, options, changes[i]); },
        [&](std::size_t done) {
            if (options.progress) {
                options.progress(static_cast<double>(done) /
                                 static_cast<double>(changes.size() + options.keep));
            }
        });
    explanation.tried = static_cast<std::int64_t>(tried.size());
    for (Tried& one : tried) {
        if (!one.scenario) {
            ++explanation.refused;
        } else if (!one.fits) {
            ++explanation.too_large;
        } else {
            // If the scenario does not fit, a change that fits has a gain of at least 1.
            one.gain = one.tokens_per_s / reference->tokens_per_s - 1 + (fits ? 0 : 2);
        }
    }
    add_suggestions(tried, options, scenario->network, explanation);
    return explanation;
}

}  // namespace orrery
