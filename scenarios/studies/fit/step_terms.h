// SPDX-License-Identifier: Apache-2.0
// Table of the terms that the simulations behind step_efficiency.csv give for each measured step:
// seconds of its parts, the cost of a call, the predicted step. The factors follow from these terms
// and the measured times alone. The table shows which simulated steps a change moves.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "engine/base/result.h"

namespace orrery {

// By name: "communication", "sustained.gemm/fp16". A term of 0 may be missing.
using Terms = std::map<std::string, double>;
// By the row's name.
using RowTerms = std::map<std::string, Terms>;

struct StepTerms {
    RowTerms steps;    // steps on which factors are fitted
    RowTerms calls;    // steps that the host binds
    RowTerms unseen;   // steps of other software
    RowTerms experts;  // steps of models with experts
    bool operator==(const StepTerms&) const = default;
};

double term(const Terms& terms, const std::string& name);

// The value with the digits of the table. Fits use rounded terms, so that the table reproduces
// them.
double rounded_term(double value);

// Text of the file: columns fit, case, and the terms by name. The second function reads it.
std::string step_terms_csv(const StepTerms& terms, const std::string& command);
ResultOrErrors<StepTerms> read_step_terms(const std::filesystem::path& file);

}  // namespace orrery
