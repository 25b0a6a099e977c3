// SPDX-License-Identifier: Apache-2.0
// What the general factors leave of steps that they were not fitted on, by what of the step was not
// seen (SeenSteps): a family of steps alone, the software, its lineage, or the generation of
// devices. Each is the spread *between* what was left out, every family (software, lineage,
// generation) weighing the same, of predictions by factors that were fitted without it. A step
// counts where all that the fit lacks is what was left out: NeMo left out tells of unseen software,
// llm.c left out does not, for nothing of its lineage is left; of devices steps count whose
// lineage others were run on. Steps of software that no fitted step ran on
// (published/training_more.csv) are left out of every fit, and so are steps of models with experts
// (expert_fit.h).
//
// Of unseen software and lineages two figures are conditional on the step: the shift grows with the
// doublings of its GPUs, and the spread with those of its pace (doublings_of_pace()). The first
// comes from the least mean distance to the median, the second from the least interval score
// (Gneiting and Raftery, Strictly Proper Scoring Rules, 2007: width + what lies outside, by 2 over
// the share that may), both over all software and lineages left out together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "scenarios/studies/fit/step_fit.h"
#include "scenarios/studies/simulate/step_costs.h"
#include "scenarios/studies/simulate/step_efficiency.h"

namespace orrery {

// Log errors of steps, by family, or by what else was left out.
using FamilyErrors = std::map<std::string, std::vector<double>>;

// The median log error, families weighing the same. 0 of fewer groups than tell one.
inline constexpr std::size_t kGroupsOfCentre = 5;
double centre_of(const FamilyErrors& errors);
// The 90th percentile of the log errors' distances from `centre`, families weighing the same, over
// that of a normal: a relative standard deviation. 0 without errors.
double spread_between(const FamilyErrors& errors, double centre = 0);

// A step by factors that were fitted without it.
struct UnseenStep {
    double error = 0;      // natural logarithm of predicted / measured
    double explained = 0;  // relative standard deviation that its interval has besides
    std::int64_t num_gpus = 1;
    double predicted_s = 0;
    bool operator==(const UnseenStep&) const = default;
};
using UnseenSteps = std::map<std::string, std::vector<UnseenStep>>;
UnseenSteps unseen_steps(const FamilyErrors& errors);

// By what was left out: families (nothing is unseen but they), software, lineages, generations; of
// experts families, of which none was fitted on.
using UnseenPools = std::map<Unseen, UnseenSteps>;

// The spread of each pool's steps, around its shift; of each the doublings' part is the same.
std::map<Unseen, StepSpread> spreads_of(const UnseenPools& pools);

struct UnseenErrors {
    UnseenPools pools;
    // All fitted steps, by factors that were fitted without their family.
    FamilyErrors families;
};

// The cases that tell of something unseen, for which `others` below stand.
std::vector<PublishedCase> unseen_cases(const std::vector<PublishedCase>& cases,
                                        const std::vector<StepSample>& fitted,
                                        const Catalogue& catalogue);

// `fitted`: what the factors come from; `others`: more steps, of which the unseen are used. The
// fits run on `jobs` threads (0: one a core) and don't depend on how many there are.
UnseenErrors unseen_errors(const std::vector<StepSample>& fitted,
                           const std::vector<StepSample>& others,
                           std::uint32_t jobs = 1);

// Sets step.residual, step.residual.software, .lineage, .device and .experts, the shifts of the
// latter four (steps of unseen software mostly take longer than predicted), and step.seen.
void set_residuals(const std::vector<StepSample>& fitted,
                   const UnseenErrors& errors,
                   EfficiencyTable& table);

// Share of a pool's steps that lie within the 90 % interval which all pools give without what was
// left out with them, families (software, lineages, generations) weighing the same.
double left_out_coverage(const UnseenPools& pools, Unseen kind);

}  // namespace orrery
