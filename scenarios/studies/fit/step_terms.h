// SPDX-License-Identifier: Apache-2.0
// What the simulations behind step_efficiency.csv give of each measured step, as a table: seconds
// of its parts, the cost of a call, the predicted step. The factors follow from these terms and the
// measured times alone. The table shows which simulated steps a change has moved.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "engine/base/result.h"

namespace orrery {

// By name: "communication", "sustained.gemm/fp16". What is 0 may be missing.
using Terms = std::map<std::string, double>;
// By the row's name.
using RowTerms = std::map<std::string, Terms>;

struct StepTerms {
    RowTerms steps;    // that factors are fitted on
    RowTerms calls;    // of steps that the host binds
    RowTerms unseen;   // of other software
    RowTerms experts;  // of models with experts
    bool operator==(const StepTerms&) const = default;
};

double term(const Terms& terms, const std::string& name);

// With the digits that the table has. A fit sees no others, so it is the same from the table.
double rounded_term(double value);

// The file's text: columns fit, case, and the terms by name; and back.
std::string step_terms_csv(const StepTerms& terms, const std::string& command);
ResultOrErrors<StepTerms> read_step_terms(const std::filesystem::path& file);

}  // namespace orrery
