// SPDX-License-Identifier: Apache-2.0
// The instances of a served load that follow it, and the power of their row.
#pragma once

#include "scenarios/report/report.h"
#include "scenarios/studies/serve/serving_study.h"

namespace orrery {

ReportSection row_section(const ServingAnswer::Row& row);
ReportSection scaling_section(const ServingAnswer& answer);

}  // namespace orrery
