// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/unseen_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "engine/parallel.h"
#include "kernels/balanced_percentile.h"
#include "scenarios/studies/simulate/software.h"
#include "scenarios/studies/validate/validation.h"

namespace orrery {
namespace {

constexpr double kSpreadShare = 0.9;
constexpr double kSpreadSigma = 0.2;  // of a spread that some fifteen families tell
constexpr std::array<std::pair<Unseen, const char*>, 5> kSources{
    {{Unseen::nothing, "fit: families left out"},
     {Unseen::software, "fit: software left out"},
     {Unseen::lineage, "fit: lineages of software left out"},
     {Unseen::device, "fit: generations left out"},
     {Unseen::experts, "simulated: families with experts left out"}}};
// What a sample can be left out by.
constexpr std::array kLeftOutBy{
    Unseen::nothing, Unseen::software, Unseen::lineage, Unseen::device};

double log_error(const StepSample& sample, const EfficiencyTable& table) {
    return std::log(predict_step(sample, table) / sample.measured_s);
}

// The part of an error that communication and host do not explain, whose own spread the interval of
// a step has besides.
double unexplained(const StepSample& sample, double error) {
    const double explained = kQuantile95 * sample.beside_kernels;
    return std::copysign(std::sqrt(std::max(0.0, error * error - explained * explained)), error);
}

SeenSteps seen_of(const std::vector<StepSample>& samples) {
    SeenSteps seen;
    for (const StepSample& sample : samples) {
        seen.add(sample.stack, sample.generation, sample.dtype);
    }
    return seen;
}

// What one fit without some samples says about them.
struct LeftOutRows {
    Unseen kind = Unseen::nothing;
    std::string name;  // of the family, the software, the lineage or the generation
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
            break;  // no sample has any
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

// Whether this is all of the step that `seen` lacks.
bool lacks_only(const SeenSteps& seen, const StepSample& sample, Unseen kind) {
    const bool of_device = kind == Unseen::device;
    return seen.step(sample.stack, sample.generation, sample.dtype) == kind &&
           (!of_device || seen.software(sample.stack) <= Unseen::software);
}

struct LeftOutErrors {
    std::vector<double> pool;  // of steps that lack what was left out alone
    std::map<std::string, std::vector<double>> families;  // of all
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
            const double error = log_error(sample, table);
            errors.families[sample.family].push_back(error);
            if (lacks_only(seen, sample, left_out.kind)) {
                errors.pool.push_back(unexplained(sample, error));
            }
        }
    }
    return errors;
}

}  // namespace

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
                errors.pools[kind][name_of(sample, kind)].push_back(
                    unexplained(sample, log_error(sample, table)));
            }
        }
    }
    return errors;
}

void set_residuals(const std::vector<StepSample>& fitted,
                   const UnseenErrors& errors,
                   EfficiencyTable& table) {
    for (const auto& [kind, source] : kSources) {
        const auto pool = errors.pools.find(kind);
        const FamilyErrors of = pool == errors.pools.end() ? FamilyErrors{} : pool->second;
        const double centre = kind == Unseen::nothing ? 0 : centre_of(of);
        table.set(
            residual_name(kind),
            "*",
            "*",
            {.value = spread_between(of, centre), .sigma = kSpreadSigma, .source = source});
        if (kind != Unseen::nothing) {
            table.set(shift_name(kind),
                      "*",
                      "*",
                      {.value = 0 - centre, .sigma = kSpreadSigma, .source = source});
        }
    }
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

double left_out_coverage(const FamilyErrors& errors, bool shifted) {
    double sum = 0;
    for (const auto& [family, of_family] : errors) {
        FamilyErrors others = errors;
        others.erase(family);
        const double centre = shifted ? centre_of(others) : 0;
        const double half_width = kQuantile95 * spread_between(others, centre);
        const auto within = [&](double error) { return std::abs(error - centre) <= half_width; };
        sum += static_cast<double>(std::ranges::count_if(of_family, within)) /
               static_cast<double>(of_family.size());
    }
    return errors.empty() ? 0 : sum / static_cast<double>(errors.size());
}

}  // namespace orrery
