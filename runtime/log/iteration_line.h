// SPDX-License-Identifier: Apache-2.0
// The lines that a training run prints, in the form of Megatron-LM's log, so that tools which read
// the one read the other.
#pragma once

#include <cstdint>
#include <string>

namespace orrery {

struct LoadSummary;
struct StepReport;

// Loss and time are means over the steps since the last line, as Megatron-LM's.
std::string iteration_line(const StepReport& report, std::int64_t steps, std::int64_t batch_size);
std::string validation_line(std::int64_t step, double loss);
// Tokens of the busiest expert over the mean, and what a capacity dropped.
std::string experts_line(std::int64_t step, const LoadSummary& loads);

}  // namespace orrery
