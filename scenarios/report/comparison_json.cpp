// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "scenarios/report/render/json_text.h"
#include "scenarios/studies/measure/run_comparison.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string comparison_json(const RunComparison& c) {
    Json json{{"scenario", c.scenario},
              {"machine", c.machine},
              {"ranks", c.ranks},
              {"steps", c.steps},
              {"steps_used", c.steps_used},
              {"steps_undisturbed", c.undisturbed},
              {"measured_s", c.measured_s},
              {"measured_median_s", c.all_median_s},
              {"measured_spread", c.all_spread},
              {"processor_s", c.cpu_s},
              {"undisturbed_s", c.replayed_s},
              {"undisturbed_spread", c.replayed_spread},
              {"predicted_s", c.predicted_s},
              {"error", c.predicted_s / c.replayed_s - 1},
              {"uncertainty", c.uncertainty}};
    json["memory"] = {{"predicted_bytes", c.predicted_memory.count()},
                      {"allocated_bytes", c.allocated_memory.count()},
                      {"resident_bytes", c.resident_memory.count()}};
    json["parts"] = Json::array();
    for (const ComparedPart& part : c.parts) {
        json["parts"].push_back({{"kind", name(part.kind)},
                                 {"name", part.name},
                                 {"runs", part.runs},
                                 {"measured_s", part.measured_s},
                                 {"predicted_s", part.predicted_s}});
    }
    return json_text(json);
}

}  // namespace orrery
