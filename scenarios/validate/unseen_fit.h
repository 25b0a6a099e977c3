// SPDX-License-Identifier: Apache-2.0
// What the general factors leave of steps that they were not fitted on: of a family of steps, of
// other software, of another generation of devices. Each is the spread *between* families, every
// family weighing the same, of predictions by factors that were fitted without the family, without
// all steps of its software, and without all steps of its generation. Families of software that no
// fitted step ran on (published/training_more.csv) are left out of every fit.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "scenarios/simulate/step_efficiency.h"
#include "scenarios/validate/step_fit.h"

namespace orrery {

// Absolute log errors of steps, by family.
using FamilyErrors = std::map<std::string, std::vector<double>>;

// The 90th percentile of the absolute log errors, families weighing the same, over that of a
// normal: a relative standard deviation. 0 without errors.
double spread_between(const FamilyErrors& errors);

struct UnseenErrors {
    FamilyErrors family;    // fitted without the family
    FamilyErrors software;  // fitted without its software
    FamilyErrors device;    // fitted without its generation
};

// `fitted`: what the factors come from; `others`: of which those of other software are used.
UnseenErrors unseen_errors(const std::vector<StepSample>& fitted,
                           const std::vector<StepSample>& others);

// Sets step.residual, step.residual.software, step.residual.device and step.seen.
void set_residuals(const std::vector<StepSample>& fitted,
                   const UnseenErrors& errors,
                   EfficiencyTable& table);

// Share of the steps whose error lies within the 90 % interval that the spread of all *other*
// families gives, families weighing the same.
double left_out_coverage(const FamilyErrors& errors);

}  // namespace orrery
