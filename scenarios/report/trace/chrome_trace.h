// SPDX-License-Identifier: Apache-2.0
// A step in Chrome's trace event format (JSON), which chrome://tracing, Perfetto and speedscope
// read. It has the same tracks as report/trace/perfetto_trace.h and is about three times as large.
// Times are microseconds with picoseconds as decimals.
#pragma once

#include <ostream>
#include <vector>

#include "engine/program/program.h"
#include "engine/world/simulation.h"

namespace orrery {

void write_chrome_trace(std::ostream& out,
                        const Program& program,
                        const std::vector<TracedOp>& trace);

}  // namespace orrery
