// SPDX-License-Identifier: Apache-2.0
// A Perfetto trace of a served load: a process for each pool, in it a track for each instance with
// its steps, and counters of its queue and its cache.
#pragma once

#include <ostream>
#include <string>

#include "engine/result.h"
#include "scenarios/studies/serve/served_timeline.h"
#include "scenarios/studies/serve/serving_study.h"

namespace orrery {

// Of the steps that the timeline has kept. Where it has kept less than all, an instant says so.
void write_serving_trace(std::ostream& out,
                         const ServingAnswer& answer,
                         const ServedTimeline& timeline);
Result<void> write_serving_trace(const std::string& file,
                                 const ServingAnswer& answer,
                                 const ServedTimeline& timeline);

}  // namespace orrery
