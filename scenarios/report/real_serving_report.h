// SPDX-License-Identifier: Apache-2.0
// What `orrery serve --real` shows: the report of a simulated run with the figures of this machine,
// and beside them the prediction.
#pragma once

#include <string>

#include "scenarios/report/serving_report.h"
#include "scenarios/studies/serve/real_serving.h"

namespace orrery {

Report real_serving_sections(const Scenario& scenario,
                             const RealServingAnswer& answer,
                             const ServingResult& measured);
// The keys of serving_json() with the measured figures, and `predicted` with those of the
// simulation; docs/schema/serve.schema.json.
std::string real_serving_json(const Scenario& scenario, const RealServingAnswer& answer);

}  // namespace orrery
