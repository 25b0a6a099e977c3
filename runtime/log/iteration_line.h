// SPDX-License-Identifier: Apache-2.0
// The lines of a training run in the form of Megatron-LM's log, so that its tools can read them.
#pragma once

#include <cstdint>
#include <string>

namespace orrery {

struct LoadSummary;
struct StepReport;

// Loss and time are means over the steps since the last line, as in Megatron-LM.
std::string iteration_line(const StepReport& report, std::int64_t steps, std::int64_t batch_size);
std::string validation_line(std::int64_t step, double loss);
// The busiest expert's tokens over the mean, and the share that a capacity dropped.
std::string experts_line(std::int64_t step, const LoadSummary& loads);

}  // namespace orrery
