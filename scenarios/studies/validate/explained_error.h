// SPDX-License-Identifier: Apache-2.0
// One published case: its prediction, and the change of the prediction with each input that the
// source leaves open.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/studies/simulate/answer.h"
#include "scenarios/studies/validate/assumed_inputs.h"
#include "scenarios/studies/validate/validation.h"

namespace orrery {

// Another value of an input, and the simulated step with it. The error says why that step cannot be
// simulated.
struct VariedInput {
    Alternative instead;
    Result<Answer> answer;
};

struct ExplainedError {
    PublishedCase row;
    Answer answer;
    ValidatedCase validated;  // its sigma includes the inputs that the source does not state
    std::vector<VariedInput> varied;  // sorted by the change of the step, largest first

    // Relative change of the predicted step; 0 if there is no answer.
    double change(const VariedInput& input) const;
};

// Explains the case in the first table that has it. `progress` gets the completed share of the
// inputs.
ResultOrErrors<ExplainedError> explain_error(const std::vector<std::string>& tables,
                                             const std::string& name,
                                             const std::function<void(double)>& progress);

}  // namespace orrery
