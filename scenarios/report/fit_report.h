// SPDX-License-Identifier: Apache-2.0
// How well fitted factors predict what they were fitted on, and what they were not.
#pragma once

#include "scenarios/report/report.h"
#include "scenarios/studies/validate/fit_study.h"

namespace orrery {

Report step_fit_sections(const FittedSteps& fitted);
Report kernel_fit_sections(const KernelFit& fit);

}  // namespace orrery
