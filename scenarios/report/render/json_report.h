// SPDX-License-Identifier: Apache-2.0
// An answer, or a validation, as one JSON object. Times are in seconds, sizes in bytes, shares
// 0 … 1; the unit is the last part of a key.
#pragma once

#include <string>

#include "scenarios/studies/campaign/campaign_answer.h"
#include "scenarios/studies/network/network_answer.h"
#include "scenarios/studies/simulate/answer.h"
#include "scenarios/studies/validate/operations/collective_cases.h"
#include "scenarios/studies/validate/validation.h"

namespace orrery {

std::string json_report(const Answer& answer);
std::string json_report(const Validation& validation);
std::string json_report(const CollectiveValidation& validation);
std::string json_report(const CampaignAnswer& campaign);
// Keys rows, flows, packets and links; seconds, bytes and bytes a second.
std::string json_report(const NetworkAnswer& answer);

// The ranks that wait for each other in a step that a loss stopped, as a JSON object.
std::string hang_json(const StepHang& hang);

}  // namespace orrery
