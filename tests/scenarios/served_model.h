// SPDX-License-Identifier: Apache-2.0
// A model of 8 billion parameters on one server of eight H100, as studies of served loads take it.
#pragma once

#include "scenarios/format/read/reader.h"
#include "tests/models/known_models.h"

namespace orrery {

inline Scenario served_model() {
    ReadOptions options;
    options.network_only = true;
    options.catalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";
    Scenario scenario =
        read_scenario_text("cluster: {nodes: 1, node: dgx-h100}\n", "test", ".", options).value();
    scenario.model = llama(32, 4096, 14336, 8, 128256);
    return scenario;
}

}  // namespace orrery
