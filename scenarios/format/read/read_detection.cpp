// SPDX-License-Identifier: Apache-2.0
// The maps `detection` of a campaign and of a recovery plan. A plan's missing keys have the
// campaign's values.
#include "scenarios/format/read/key_tables.h"
#include "scenarios/format/read/read_sections.h"

namespace orrery {
namespace {

constexpr Key kDetectionRows[] = {
    key<&DetectionSpec::node_agent>("node_agent",
                                    "An agent on each node looks for faults of its node."),
    key<&DetectionSpec::heartbeat>("heartbeat",
                                   "A node is lost after a silence this long; 0 s: never."),
    key<&DetectionSpec::progress_watchdog>(
        "progress_watchdog", "The job hangs if no step ends for this long; 0 s: no watchdog."),
    key<&DetectionSpec::collective_timeout>("collective_timeout",
                                            "A collective fails after this long.")
        .range(1, kLongMost),
    key<&DetectionSpec::step_outlier>(
        "step_outlier", "Window of step times in which a slow node is found; 0 s: none."),
    key<&DetectionSpec::anomaly>("anomaly",
                                 "Mean time until wrong numbers are noticed; 0 s: never."),
    key<&DetectionSpec::confirmation>("confirmation", "Time to confirm each finding."),
    key<&DetectionSpec::diagnosis>("diagnosis", "Time of the tests that look for the faulty node."),
    key<&DetectionSpec::localisation>("localisation", "Probability that these tests find it.")
        .range(0, 1),
    key<&DetectionSpec::false_positive>("false_positive",
                                        "Probability that they accuse a healthy node besides.")
        .range(0, 1),
};

}  // namespace

const KeyTable<DetectionSpec> kDetectionKeys =
    key_table<DetectionSpec>("detection", kDetectionRows);

void read_detection(const DocumentNode& map,
                    const std::string& path,
                    DetectionSpec& spec,
                    Errors& errors) {
    read_map(map, path, kDetectionKeys, spec, errors);
}

}  // namespace orrery
