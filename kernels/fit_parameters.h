// SPDX-License-Identifier: Apache-2.0
// What kernels/fit.cpp estimates: the parameters of each family with their priors, what stays
// fixed, and the rules by which generations without measurements follow from those with.
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

// Not estimated: no published single-kernel times touch them.
EfficiencyTable fixed_parameters();

// Adds volta, blackwell, cpu and the attention kernels that a generation lacks.
void apply_generation_rules(EfficiencyTable& table);

// The spread of what the curve leaves, for every row of the table that belongs to `name`; for
// attention.residual all kernel generations.
void set_residual(EfficiencyTable& table,
                  const std::string& name,
                  const std::string& generation,
                  double sigma);

}  // namespace orrery
