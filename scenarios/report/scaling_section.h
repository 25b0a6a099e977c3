// SPDX-License-Identifier: Apache-2.0
// The instances of a served load that follow it or encode its images, and the power of their row.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "scenarios/report/report.h"
#include "scenarios/studies/serve/serving_study.h"

namespace orrery {

ReportSection encoder_section(const ServingAnswer::Encoder& encoder);
ReportSection row_section(const ServingAnswer::Row& row);
// Null where there is none.
nlohmann::ordered_json encoder_json(const ServingAnswer& answer);
nlohmann::ordered_json row_json(const ServingAnswer& answer);
ReportSection scaling_section(const ServingAnswer& answer);

}  // namespace orrery
