// SPDX-License-Identifier: Apache-2.0
// Measured congestion-control factors (studies/network/congestion_study.h).
#pragma once

#include <string>

#include "scenarios/report/report.h"
#include "scenarios/studies/network/congestion_study.h"

namespace orrery {

Report congestion_sections(const CongestionStudy& study);
std::string congestion_json(const CongestionStudy& study);

}  // namespace orrery
