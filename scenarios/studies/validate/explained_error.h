// SPDX-License-Identifier: Apache-2.0
// One published case: its prediction, and how it moves where the source leaves an input open.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/studies/simulate/answer.h"
#include "scenarios/studies/validate/assumed_inputs.h"
#include "scenarios/studies/validate/validation.h"

namespace orrery {

// Another value of an input, and the step with it; an error where it can't be simulated.
struct VariedInput {
    Alternative instead;
    Result<Answer> answer;
};

struct ExplainedError {
    PublishedCase row;
    Answer answer;
    ValidatedCase validated;          // with the spread of what the source does not state
    std::vector<VariedInput> varied;  // the largest change of the step first

    // Of the predicted step; 0 where there is no answer.
    double change(const VariedInput& input) const;
};

// Of the first of the tables that has the case. `progress` gets the share of the inputs that is
// done.
ResultOrErrors<ExplainedError> explain_error(const std::vector<std::string>& tables,
                                             const std::string& name,
                                             const std::function<void(double)>& progress);

}  // namespace orrery
