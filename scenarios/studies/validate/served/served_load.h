// SPDX-License-Identifier: Apache-2.0
// The requests of published serving measurements, where their sources say more than means.
#pragma once

#include "scenarios/studies/serve/synthetic_load.h"
#include "scenarios/studies/validate/served/serving_cases.h"

namespace orrery {

LengthTable share_gpt_lengths(const ServingCase& row);

}  // namespace orrery
