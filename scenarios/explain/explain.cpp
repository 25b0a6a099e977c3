// SPDX-License-Identifier: Apache-2.0
#include "scenarios/explain/explain.h"

#include <algorithm>
#include <optional>

#include "scenarios/reader.h"
#include "scenarios/simulate/simulate_scenario.h"

namespace orrery {
namespace {

constexpr double kWorthTelling = 0.001;

struct Tried {
    Change change;
    Scenario scenario;
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

Result<Answer> simulate_without_contention(Scenario scenario) {
    scenario.network = NetworkFidelity::analytic;
    scenario.faults = {};
    SimulationOptions options;
    options.only_if_fits = true;
    return simulate_scenario(scenario, options);
}

// Those of a kind that gain most, on the scenario's own network.
void add_best(std::vector<Tried>& tried,
              ChangeKind kind,
              std::size_t keep,
              Explanation& explanation) {
    std::vector<Tried*> of_kind;
    for (Tried& one : tried) {
        if (one.change.kind == kind && one.gain > kWorthTelling) {
            of_kind.push_back(&one);
        }
    }
    std::ranges::stable_sort(of_kind, std::greater{}, &Tried::gain);
    of_kind.resize(std::min(of_kind.size(), keep));
    std::vector<Suggestion> suggestions;
    for (const Tried* one : of_kind) {
        const auto answer = simulate_scenario(one->scenario, {});
        if (!answer) {
            continue;
        }
        Suggestion suggestion{.change = one->change,
                              .gain = answer->tokens_per_s / explanation.answer.tokens_per_s - 1,
                              .iteration = answer->iteration,
                              .mfu = answer->mfu,
                              .peak_memory = answer->memory.peak};
        // A scenario that does not fit needs any change that does, faster or not.
        if (suggestion.gain > kWorthTelling || !explanation.answer.memory.fits) {
            suggestions.push_back(std::move(suggestion));
        }
    }
    std::ranges::stable_sort(suggestions, std::greater{}, &Suggestion::gain);
    std::ranges::move(suggestions, std::back_inserter(explanation.suggestions));
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
    auto answer = simulate_scenario(*scenario, {});
    if (!answer) {
        return unexpected<Errors>({answer.error()});
    }
    Scenario alone = *scenario;
    alone.network = NetworkFidelity::analytic;
    const auto reference = simulate_scenario(alone, {});
    if (!reference) {
        return unexpected<Errors>({reference.error()});
    }
    Explanation explanation{.answer = std::move(*answer),
                            .provenance = provenance_of("explain", *scenario)};
    explanation.provenance.add_option("keep", std::to_string(options.keep));
    const bool fits = explanation.answer.memory.fits;
    const std::vector<Change> changes = possible_changes(*scenario);
    std::vector<Tried> tried;
    for (const Change& change : changes) {
        ++explanation.tried;
        if (options.progress) {
            options.progress(static_cast<double>(explanation.tried) /
                             static_cast<double>(changes.size() + options.keep));
        }
        auto other = changed(file, options, change);
        const auto result = other ? simulate_without_contention(*other) : Result<Answer>{};
        if (!other || !result) {
            ++explanation.refused;
        } else if (!result->memory.fits) {
            ++explanation.too_large;
        } else {
            const double gain = result->tokens_per_s / reference->tokens_per_s - 1;
            // What fits is a gain in itself where the scenario does not: 1 or more.
            tried.push_back({change, std::move(*other), fits ? gain : gain + 2});
        }
    }
    for (const ChangeKind kind : {ChangeKind::plan, ChangeKind::batch, ChangeKind::hardware}) {
        add_best(tried, kind, options.keep, explanation);
    }
    return explanation;
}

}  // namespace orrery
