// SPDX-License-Identifier: Apache-2.0
// `orrery validate` of a table of training steps: published cases, or one's own runs.
#pragma once

#include <functional>

#include "engine/result.h"
#include "scenarios/program/show_output.h"
#include "scenarios/program/validate.h"

namespace orrery {

// The answer without its provenance.
ResultOrErrors<StudyOutput> validate_step_table(const ValidateArguments& arguments,
                                                const std::function<void(double)>& progress);

}  // namespace orrery
