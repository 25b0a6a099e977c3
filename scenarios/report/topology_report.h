// SPDX-License-Identifier: Apache-2.0
// The report of a cluster's topology (studies/network/topology.h).
#pragma once

#include <string>

#include "scenarios/report/render/report.h"
#include "scenarios/studies/network/topology.h"

namespace orrery {

Report topology_sections(const Topology& topology);
// Bytes a second and seconds; docs/schema/topology.schema.json.
std::string topology_json(const Topology& topology);

}  // namespace orrery
