// SPDX-License-Identifier: Apache-2.0
// The memory of a plan as a section, and as a line if it does not fit. The memory of published
// configurations beside the prediction, as a report and as JSON.
#pragma once

#include <string>
#include <string_view>

#include "scenarios/report/render/report.h"
#include "scenarios/studies/simulate/answer.h"
#include "scenarios/studies/validate/memory_cases.h"

namespace orrery {

// "12.0 GiB of 1.00 TiB of a server: fits": the use of a tier outside the GPUs' memory. If the tier
// is too small, the text names the missing bytes and the largest tensor.
std::string tier_words(Bytes used, Bytes has, const BufferUse& largest);

// "DOES NOT FIT: the fullest GPU needs 94.6 GiB and has 80 GiB (rank 0, pp 0)", or the same of a
// server's memory or drives.
std::string does_not_fit_line(const MemoryUse& memory);

// The contents of the fullest GPU's memory, and of the host's memory and drives.
ReportSection memory_section(const MemoryUse& memory);

Report memory_sections(const MemoryValidation& validation);
std::string json_report(const MemoryValidation& validation);

}  // namespace orrery
