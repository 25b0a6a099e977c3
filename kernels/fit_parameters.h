// SPDX-License-Identifier: Apache-2.0
// The parameters that kernels/fit.cpp estimates with their priors, the fixed parameters, and the
// rules by which generations without measurements follow from the others.
#pragma once

#include <string>
#include <vector>

#include "kernels/efficiency_table.h"

namespace orrery {

struct FitParameter {
    std::string name;
    std::string generation;
    std::string dtype;
    double prior = 0;
    double prior_sigma = 0;  // of its logarithm
    std::string prior_source = "prior: order of magnitude";
};

// `family` as in Measurement: memory, gemm, attention.
std::vector<FitParameter> fit_parameters(const std::string& family);

// Parameters that no published time of a single kernel determines.
EfficiencyTable fixed_parameters();

// Adds volta, blackwell, cpu and the missing attention kernels of each generation.
void apply_generation_rules(EfficiencyTable& table);

// Sets the relative sigma of the remaining error for `name` and `generation`; attention.residual
// stands for all kernel generations.
void set_residual(EfficiencyTable& table,
                  const std::string& name,
                  const std::string& generation,
                  double sigma);

}  // namespace orrery
