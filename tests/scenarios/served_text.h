// SPDX-License-Identifier: Apache-2.0
// Served loads as text: Llama 3 8B on a DGX H100, with these two sections.
#pragma once

#include <string>

#include "scenarios/format/read/reader.h"

namespace orrery {

inline ResultOrErrors<Scenario> read_served_text(const std::string& serving,
                                                 const std::string& workload) {
    ReadOptions options;
    options.serving = true;
    options.catalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";
    return read_scenario_text(
        "kind: serving\n"
        "cluster: {nodes: 1, node: dgx-h100}\n"
        "model: llama-3-8b\n"
        "serving: " +
            serving + "\nworkload: " + workload + "\n",
        "s.yaml",
        ".",
        options);
}

inline std::string first_error(const std::string& serving, const std::string& workload) {
    const auto read = read_served_text(serving, workload);
    return read ? "" : read.error().front().to_string();
}

}  // namespace orrery
