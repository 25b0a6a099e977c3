// SPDX-License-Identifier: Apache-2.0
// The memory of a plan that does not fit, in a line; and predicted memory beside what became of
// published configurations, for people and as JSON.
#pragma once

#include <string>
#include <string_view>

#include "scenarios/studies/simulate/answer.h"
#include "scenarios/studies/validate/memory_cases.h"

namespace orrery {

// What a server has of a tier beside its GPUs' memory; if that is too small, by how much, and which
// tensor is largest there.
std::string tier_line(std::string_view name, Bytes used, Bytes has, const BufferUse& largest);

// "DOES NOT FIT: the fullest GPU needs 94.6 GiB and has 80 GiB (rank 0, pp 0)", or the same of a
// server's memory or drives.
std::string does_not_fit_line(const MemoryUse& memory);

std::string memory_report(const MemoryValidation& validation);
std::string json_report(const MemoryValidation& validation);

}  // namespace orrery
