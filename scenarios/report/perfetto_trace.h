// SPDX-License-Identifier: Apache-2.0
// Writes the last step of the traced ranks for Perfetto (ui.perfetto.dev): protobuf messages of
// perfetto/trace (TracePacket, TrackEvent, TrackDescriptor, InternedData), encoded here.
//   1. a process per rank, a thread per stream
//   2. a slice per op, categories are causes; step, chunk and micro-batch as arguments
//   3. inside a communication op, a slice while it waits for its peers
// Perfetto's clock has nanoseconds: picoseconds are rounded down, so slices of a stream still
// follow each other.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "engine/program.h"
#include "engine/result.h"
#include "engine/simulation.h"

namespace orrery {

// `trace` is ordered by (rank, start), as a SimulationResult has it.
void write_perfetto_trace(std::ostream& out,
                          const Program& program,
                          const std::vector<TracedOp>& trace);
// To a file that appears whole or not at all.
// A name that ends with .json gets Chrome's format (report/chrome_trace.h).
Result<void> write_perfetto_trace(const std::string& file,
                                  const Program& program,
                                  const std::vector<TracedOp>& trace);

// Several timelines of the same ranks (predicted, measured), each rank's processes one above the
// other: "rank 0 (pp 0) measured".
struct NamedTrace {
    std::string name;
    std::vector<TracedOp> ops;
};
Result<void> write_perfetto_traces(const std::string& file,
                                   const Program& program,
                                   const std::vector<NamedTrace>& traces);
void write_perfetto_traces(std::ostream& out,
                           const Program& program,
                           const std::vector<NamedTrace>& traces);

}  // namespace orrery
