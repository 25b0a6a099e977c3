// SPDX-License-Identifier: Apache-2.0
// Reads a workload of SimAI (AICB's text). It has a header with the sizes of the groups, the number
// of lines, and then for each layer the compute and the collective of the forward pass, of the
// input gradients and of the weight gradients. Times are nanoseconds. Collectives of the forward
// pass and the input gradients run on the tensor-parallel group, those of the weight gradients on
// the data-parallel group. Kinds that end with _EP or _DP_EP run on the experts' group. A file
// describes one pipeline stage, without the messages between stages.
#pragma once

#include <string>

#include "engine/base/result.h"
#include "scenarios/studies/replay/foreign_step.h"

namespace orrery {

ResultOrErrors<ForeignStep> parse_simai(const std::string& text, const std::string& source);

}  // namespace orrery
