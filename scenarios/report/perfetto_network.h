// SPDX-License-Identifier: Apache-2.0
// Writes a NetworkTrace for Perfetto (ui.perfetto.dev): a track with slices per flow, a counter per
// link.
#pragma once

#include <ostream>
#include <string>

#include "engine/result.h"
#include "scenarios/studies/network/network_trace.h"

namespace orrery {

void write_network_trace(std::ostream& out, const NetworkTrace& trace);
// To a file that appears whole or not at all.
Result<void> write_network_trace(const std::string& file, const NetworkTrace& trace);

}  // namespace orrery
