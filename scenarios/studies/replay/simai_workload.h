// SPDX-License-Identifier: Apache-2.0
// Reads a workload of SimAI (AICB's text): a header with the sizes of the groups, the number of
// lines, then for each layer its compute and collective of the forward pass, of the input gradients
// and of the weight gradients. Times are nanoseconds. Collectives of the forward pass and the input
// gradients run on the tensor-parallel group, those of the weight gradients on the data-parallel
// one, and those whose kind ends with _EP or _DP_EP on the experts'. A file describes one pipeline
// stage: what several stages exchange is not in it.
#pragma once

#include <string>

#include "engine/base/result.h"
#include "scenarios/studies/replay/foreign_step.h"

namespace orrery {

ResultOrErrors<ForeignStep> parse_simai(const std::string& text, const std::string& source);

}  // namespace orrery
