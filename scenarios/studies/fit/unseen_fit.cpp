// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/fit/unseen_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "engine/base/parallel.h"
#include "kernels/balanced_percentile.h"
#include "scenarios/studies/simulate/software.h"
#include "scenarios/studies/validate/validation.h"

namespace orrery {
namespace {

constexpr double kSpreadShare = 0.9;
constexpr double kSpreadSigma = 0.2;  // of a spread over some fifteen families
// Cap of errors in the search for the terms of doublings, as in the fit of factors. A larger error
// says that a mechanism is missing, not how the error grows.
constexpr double kFarthestError = 0.4;
constexpr double kShiftMost = 0.05;
constexpr double kShiftStep = 0.001;
constexpr double kSigmaMost = 0.6;
constexpr double kSigmaStep = 0.025;
constexpr std::array<std::pair<Unseen, const char*>, 5> kSources{
    {{Unseen::nothing, "fit: families left out"},
     {Unseen::software, "fit: software left out"},
     {Unseen::lineage, "fit: lineages of software left out"},
     {Unseen::device, "fit: generations left out"},
     {Unseen::experts, "simulated: families with experts left out"}}};
// The properties by which samples are left out.
constexpr std::array kLeftOutBy{
    Unseen::nothing, Unseen::software, Unseen::lineage, Unseen::device};

// The part of a deviation beyond the interval that the step has anyway.
double unexplained(const UnseenStep& step, double away) {
    const double explained = kQuantile95 * step.explained;
    return std::sqrt(std::max(0.0, away * away - explained * explained));
}

UnseenStep unseen_step(const StepSample& sample, const EfficiencyTable& table) {
    const double predicted_s = predict_step(sample, table);
    return {.error = std::log(predicted_s / sample.measured_s),
            .explained = std::hypot(sample.beside_kernels, sample.distance, sample.assumed),
            .num_gpus = sample.num_gpus,
            .predicted_s = predicted_s};
}

bool has_trend(Unseen kind) {
    return kind == Unseen::software || kind == Unseen::lineage;
}

// Difference of a step's log error to the shift of its pool.
double deviation(const UnseenStep& step, const StepSpread& spread) {
    return step.error + spread.at(step.num_gpus, step.predicted_s).shift;
}

// One figure for each step of a pool.
template <class Figure>
FamilyErrors figures_of(const UnseenSteps& pool, const Figure& figure) {
    FamilyErrors figures;
    for (const auto& [name, steps] : pool) {
        for (const UnseenStep& step : steps) {
            figures[name].push_back(figure(step));
        }
    }
    return figures;
}

double mean_of(const FamilyErrors& figures) {
    double sum = 0;
    for (const auto& [name, values] : figures) {
        sum +=
            std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    }
    return figures.empty() ? 0 : sum / static_cast<double>(figures.size());
}

// Shift of the pool if a doubling of the GPUs adds `doubling`.
StepSpread shift_of(const UnseenSteps& pool, Unseen kind, double doubling) {
    StepSpread spread{.shift_doubling = doubling};
    if (kind != Unseen::nothing) {
        spread.shift = 0 - centre_of(figures_of(pool, [&](const UnseenStep& step) {
                           return deviation(step, spread);
                       }));
    }
    return spread;
}

// Few families, software or lineages tell a spread only roughly. The interval of the next one is
// Student's, with a degree of freedom for each group; the shift takes one.
double of_few_groups(const UnseenSteps& pool, const StepSpread& spread) {
    const double groups = static_cast<double>(pool.size()) - (spread.shift != 0 ? 1 : 0);
    return student_over_normal(std::max(2.0, groups));
}

// Sets the pool's sigma around its shift if a doubling of the pace adds `doubling`.
void set_sigma(const UnseenSteps& pool, double doubling, StepSpread& spread) {
    spread.sigma_doubling = doubling;
    spread.sigma = 1;
    const double seen = spread_between(figures_of(pool, [&](const UnseenStep& step) {
        return unexplained(step, deviation(step, spread)) /
               spread.at(step.num_gpus, step.predicted_s).sigma;
    }));
    spread.sigma = of_few_groups(pool, spread) * seen;
}

// Score of the 90 % intervals, beyond the steps' own intervals.
double interval_score(const UnseenSteps& pool, const StepSpread& spread) {
    return mean_of(figures_of(pool, [&](const UnseenStep& step) {
        const double half = kQuantile95 * spread.at(step.num_gpus, step.predicted_s).sigma;
        const double outside = unexplained(step, deviation(step, spread)) - half;
        return 2 * half + 2 / (1 - kSpreadShare) * std::max(0.0, outside);
    }));
}

// The value in [0, last] with the least cost. Among equal costs the smallest value.
template <class Cost>
double cheapest(double last, double step, const Cost& cost) {
    double best = 0;
    double least = cost(0.0);
    const int values = static_cast<int>(std::lround(last / step));
    for (int i = 1; i <= values; ++i) {
        const double value = i * step;
        if (const double here = cost(value); here < least) {
            best = value;
            least = here;
        }
    }
    return best;
}

SeenSteps seen_of(const std::vector<StepSample>& samples) {
    SeenSteps seen;
    for (const StepSample& sample : samples) {
        seen.add(sample.stack, sample.generation, sample.dtype);
    }
    return seen;
}

// Samples that one fit leaves out.
struct LeftOutRows {
    Unseen kind = Unseen::nothing;
    std::string name;  // of the family, software, lineage or generation
};

std::string name_of(const StepSample& sample, Unseen kind) {
    switch (kind) {
        case Unseen::nothing:
            return sample.family;
        case Unseen::software:
            return software_of(sample.stack);
        case Unseen::lineage:
            return lineage_of(sample.stack);
        case Unseen::device:
            return sample.generation;
        case Unseen::experts:
            break;  // samples have no experts
    }
    return {};
}

std::vector<LeftOutRows> everything_left_out(const std::vector<StepSample>& samples) {
    std::vector<LeftOutRows> all;
    for (const Unseen kind : kLeftOutBy) {
        std::set<std::string> names;
        for (const StepSample& sample : samples) {
            names.insert(name_of(sample, kind));
        }
        for (const std::string& name : names) {
            all.push_back({kind, name});
        }
    }
    return all;
}

// Whether `seen` lacks exactly this property of the step.
bool lacks_only(const SeenSteps& seen, const StepSample& sample, Unseen kind) {
    const bool of_device = kind == Unseen::device;
    return seen.step(sample.stack, sample.generation, sample.dtype) == kind &&
           (!of_device || seen.software(sample.stack) <= Unseen::software);
}

struct LeftOutErrors {
    std::vector<UnseenStep> pool;                         // steps that lack only what was left out
    std::map<std::string, std::vector<double>> families;  // of all left-out steps
};

LeftOutErrors errors_without(const std::vector<StepSample>& samples, const LeftOutRows& left_out) {
    std::vector<StepSample> kept;
    std::ranges::copy_if(samples, std::back_inserter(kept), [&](const StepSample& sample) {
        return name_of(sample, left_out.kind) != left_out.name;
    });
    const EfficiencyTable table = fit_factors(kept);
    const SeenSteps seen = seen_of(kept);
    LeftOutErrors errors;
    for (const StepSample& sample : samples) {
        if (name_of(sample, left_out.kind) == left_out.name) {
            const UnseenStep step = unseen_step(sample, table);
            errors.families[sample.family].push_back(step.error);
            if (lacks_only(seen, sample, left_out.kind)) {
                errors.pool.push_back(step);
            }
        }
    }
    return errors;
}

}  // namespace

double student_over_normal(double freedom) {
    const double z = kQuantile95;
    const double z2 = z * z;
    const double first = (z2 + 1) / 4;
    const double second = ((5 * z2 + 16) * z2 + 3) / 96;
    const double third = (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
    return 1 + (first + (second + third / freedom) / freedom) / freedom;
}

double centre_of(const FamilyErrors& errors) {
    return errors.size() < kGroupsOfCentre ? 0 : balanced_percentile(errors, 0.5);
}

double spread_between(const FamilyErrors& errors, double centre) {
    FamilyErrors absolute = errors;
    for (auto& [family, of_family] : absolute) {
        for (double& error : of_family) {
            error = std::abs(error - centre);
        }
    }
    return balanced_percentile(absolute, kSpreadShare) / kQuantile95;
}

std::vector<PublishedCase> unseen_cases(const std::vector<PublishedCase>& cases,
                                        const std::vector<StepSample>& fitted,
                                        const Catalogue& catalogue) {
    const SeenSteps seen = seen_of(fitted);
    std::vector<PublishedCase> unseen;
    for (const PublishedCase& row : cases) {
        const Result<Scenario> scenario = scenario_of(row, catalogue);
        if (scenario && seen.step(row.stack,
                                  scenario->device.generation,
                                  dtype_class(scenario->plan.precision)) != Unseen::nothing) {
            unseen.push_back(row);
        }
    }
    return unseen;
}

UnseenErrors unseen_errors(const std::vector<StepSample>& fitted,
                           const std::vector<StepSample>& others,
                           std::uint32_t jobs) {
    const std::vector<LeftOutRows> left_out = everything_left_out(fitted);
    std::vector<LeftOutErrors> found(left_out.size());
    for_each_index(left_out.size(), jobs, [&](std::size_t i) {
        found[i] = errors_without(fitted, left_out[i]);
    });
    UnseenErrors errors;
    for (std::size_t i = 0; i < left_out.size(); ++i) {
        const auto& [kind, name] = left_out[i];
        if (!found[i].pool.empty()) {
            errors.pools[kind][name] = std::move(found[i].pool);
        }
        if (kind == Unseen::nothing) {
            errors.families.merge(found[i].families);
        }
    }
    const SeenSteps seen = seen_of(fitted);
    const EfficiencyTable table = fit_factors(fitted);
    for (const StepSample& sample : others) {
        for (const Unseen kind : {Unseen::software, Unseen::lineage, Unseen::device}) {
            if (lacks_only(seen, sample, kind)) {
                errors.pools[kind][name_of(sample, kind)].push_back(unseen_step(sample, table));
            }
        }
    }
    return errors;
}

void set_residuals(const std::vector<StepSample>& fitted,
                   const UnseenErrors& errors,
                   EfficiencyTable& table) {
    std::map<Unseen, StepSpread> spreads = spreads_of(errors.pools);
    const auto set = [&](std::string_view name, double value, const char* source) {
        table.set(name, "*", "*", {.value = value, .sigma = kSpreadSigma, .source = source});
    };
    for (const auto& [kind, source] : kSources) {
        set(residual_name(kind), spreads[kind].sigma, source);
        if (kind != Unseen::nothing) {
            set(shift_name(kind), spreads[kind].shift, source);
        }
    }
    constexpr const char* kTrend = "fit: software and lineages left out";
    set(kShiftDoubling, spreads[Unseen::lineage].shift_doubling, kTrend);
    set(kSpreadDoubling, spreads[Unseen::lineage].sigma_doubling, kTrend);
    std::map<std::tuple<std::string, std::string, std::string>, std::set<std::string>> families;
    for (const StepSample& sample : fitted) {
        families[{software_of(sample.stack), sample.generation, sample.dtype}].insert(
            sample.family);
    }
    for (const auto& [key, of_software] : families) {
        const auto& [software_name, generation, dtype] = key;
        table.set("step.seen." + software_name,
                  generation,
                  dtype,
                  {.value = static_cast<double>(of_software.size()),
                   .sigma = 0,
                   .source = "families that were fitted on"});
    }
}

UnseenSteps unseen_steps(const FamilyErrors& errors) {
    UnseenSteps steps;
    for (const auto& [name, of_name] : errors) {
        for (const double error : of_name) {
            steps[name].push_back({.error = error});
        }
    }
    return steps;
}

std::map<Unseen, StepSpread> spreads_of(const UnseenPools& pools) {
    const auto sum_of = [&](const auto& cost) {
        double sum = 0;
        for (const auto& [kind, pool] : pools) {
            const bool tells = has_trend(kind) && pool.size() >= kGroupsOfCentre;
            sum += tells ? cost(kind, pool) : 0;
        }
        return sum;
    };
    const double of_shift = cheapest(kShiftMost, kShiftStep, [&](double doubling) {
        return sum_of([&](Unseen kind, const UnseenSteps& pool) {
            const StepSpread spread = shift_of(pool, kind, doubling);
            return mean_of(figures_of(pool, [&](const UnseenStep& step) {
                return std::min(kFarthestError, std::abs(deviation(step, spread)));
            }));
        });
    });
    const auto fitted = [&](Unseen kind, const UnseenSteps& pool, double of_sigma) {
        StepSpread spread = shift_of(pool, kind, has_trend(kind) ? of_shift : 0);
        set_sigma(pool, has_trend(kind) ? of_sigma : 0, spread);
        return spread;
    };
    const double of_sigma = cheapest(kSigmaMost, kSigmaStep, [&](double doubling) {
        return sum_of([&](Unseen kind, const UnseenSteps& pool) {
            return interval_score(pool, fitted(kind, pool, doubling));
        });
    });
    std::map<Unseen, StepSpread> spreads;
    for (const auto& [kind, pool] : pools) {
        spreads[kind] = fitted(kind, pool, of_sigma);
    }
    return spreads;
}

double left_out_coverage(const UnseenPools& pools, Unseen kind) {
    const auto of_kind = pools.find(kind);
    if (of_kind == pools.end()) {
        return 0;
    }
    FamilyErrors within;
    for (const auto& [name, steps] : of_kind->second) {
        UnseenPools others = pools;
        for (auto& [other, pool] : others) {
            pool.erase(name);
        }
        const StepSpread spread = spreads_of(others)[kind];
        for (const UnseenStep& step : steps) {
            const double sigma =
                std::hypot(spread.at(step.num_gpus, step.predicted_s).sigma, step.explained);
            const double away = std::abs(deviation(step, spread));
            within[name].push_back(away <= kQuantile95 * sigma ? 1 : 0);
        }
    }
    return mean_of(within);
}

}  // namespace orrery
