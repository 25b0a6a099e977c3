// SPDX-License-Identifier: Apache-2.0
// Residual errors of the general factors on steps on which they were not fitted, by the unseen
// property (SeenSteps): only the family of steps, the software, its lineage, or the generation of
// devices. Each residual is the spread *between* families (software, lineages, generations) with
// equal weights, predicted by factors that were fitted without them. A step counts only if the fit
// lacks exactly the property that was left out. Leaving out NeMo tests unseen software. Leaving out
// llm.c does not, because nothing of its lineage remains. Of devices, steps count if others ran on
// their lineage. Steps of software without fitted steps (published/training_more.csv,
// training_blind.csv) and of models with experts (expert_fit.h) are left out of every fit.
//
// For unseen software and lineages two figures depend on the step: the shift grows with the
// doublings of its GPUs, and the spread with the doublings of its pace (doublings_of_pace()). The
// first minimises the mean distance to the median, the second the interval score (Gneiting and
// Raftery, Strictly Proper Scoring Rules, 2007: the width, plus the excess outside times 2 over the
// share that may lie outside). Both are computed over all left-out software and lineages together.
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

// Log errors of steps by family, or by the name of another left-out property.
using FamilyErrors = std::map<std::string, std::vector<double>>;

// The median log error with equal weights of the families. 0 below kGroupsOfCentre families.
inline constexpr std::size_t kGroupsOfCentre = 5;
double centre_of(const FamilyErrors& errors);
// The 90th percentile of the log errors' distances from `centre`, with equal weights of the
// families, over that of a normal distribution: a relative standard deviation. 0 without errors.
double spread_between(const FamilyErrors& errors, double centre = 0);

// The 95th percentile of Student's distribution over that of the normal one (Abramowitz and Stegun,
// Handbook of Mathematical Functions, 26.7.5).
double student_over_normal(double freedom);

// A step predicted by factors that were fitted without it.
struct UnseenStep {
    double error = 0;      // natural logarithm of predicted / measured
    double explained = 0;  // relative standard deviation that its interval has anyway
    std::int64_t num_gpus = 1;
    double predicted_s = 0;
    bool operator==(const UnseenStep&) const = default;
};
using UnseenSteps = std::map<std::string, std::vector<UnseenStep>>;
UnseenSteps unseen_steps(const FamilyErrors& errors);

// By the left-out property: families (nothing else is unseen), software, lineages, generations. The
// pool of experts has families, none of which was fitted.
using UnseenPools = std::map<Unseen, UnseenSteps>;

// The spread of each pool's steps around its shift. The terms of doublings are common to all pools.
std::map<Unseen, StepSpread> spreads_of(const UnseenPools& pools);

struct UnseenErrors {
    UnseenPools pools;
    // All fitted steps, predicted by factors that were fitted without their family.
    FamilyErrors families;
};

// The cases with something unseen; sampled, they are `others` below.
std::vector<PublishedCase> unseen_cases(const std::vector<PublishedCase>& cases,
                                        const std::vector<StepSample>& fitted,
                                        const Catalogue& catalogue);

// `fitted` are the samples of the factors. Of `others` only the unseen steps are used. The fits run
// on `jobs` threads (0: one per core) and do not depend on their number.
UnseenErrors unseen_errors(const std::vector<StepSample>& fitted,
                           const std::vector<StepSample>& others,
                           std::uint32_t jobs = 1);

// Sets step.residual, step.residual.software, .lineage, .device and .experts, the shifts of the
// last four (steps of unseen software mostly take longer than predicted), and step.seen.
void set_residuals(const std::vector<StepSample>& fitted,
                   const UnseenErrors& errors,
                   EfficiencyTable& table);

// Share of a pool's steps inside the 90 % interval that all pools give without the steps left out
// together, with equal weights of the families (software, lineages, generations).
double left_out_coverage(const UnseenPools& pools, Unseen kind);

}  // namespace orrery
