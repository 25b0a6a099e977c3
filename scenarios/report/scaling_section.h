// SPDX-License-Identifier: Apache-2.0
// What not every served load has: instances that follow it, encoders of its images, the power of
// the row, tiers below the caches.
#pragma once

#include "scenarios/report/report.h"
#include "scenarios/studies/serve/serving_study.h"

namespace orrery {

ReportSection encoder_section(const ServingAnswer::Encoder& encoder);
ReportSection row_section(const ServingAnswer::Row& row);
ReportSection scaling_section(const ServingAnswer& answer);
ReportSection tiers_section(const ServingAnswer& answer);

}  // namespace orrery
