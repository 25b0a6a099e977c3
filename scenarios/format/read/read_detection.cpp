// SPDX-License-Identifier: Apache-2.0
// The maps `detection` of a campaign and of a recovery plan: what a plan leaves out is as in the
// campaign.
#include "scenarios/format/read/read_distribution.h"
#include "scenarios/format/read/read_sections.h"

namespace orrery {

void read_detection(const DocumentNode& map,
                    const std::string& path,
                    DetectionSpec& spec,
                    Errors& errors) {
    if (!map.is_map()) {
        errors.push_back({map.where(), path + " must be a map, not " + map.describe(), {}});
        return;
    }
    MapReader reader{map, path, errors};
    reader.boolean("node_agent", spec.node_agent);
    read_wall_time(reader, "heartbeat", spec.heartbeat);
    read_wall_time(reader, "progress_watchdog", spec.progress_watchdog);
    read_wall_time(
        reader, "collective_timeout", spec.collective_timeout, WallTime::microseconds(1));
    read_wall_time(reader, "step_outlier", spec.step_outlier);
    read_wall_time(reader, "anomaly", spec.anomaly);
    read_wall_time(reader, "confirmation", spec.confirmation);
    read_wall_time(reader, "diagnosis", spec.diagnosis);
    reader.real("localisation", spec.localisation, 0, 1);
    reader.real("false_positive", spec.false_positive, 0, 1);
    reader.finish();
}

}  // namespace orrery
