// SPDX-License-Identifier: Apache-2.0
// Writes traces for Perfetto (ui.perfetto.dev). Of the last step of the traced ranks: protobuf
// messages of perfetto/trace (TracePacket, TrackEvent, TrackDescriptor, InternedData), encoded
// here.
//   1. a process per rank, a thread per stream
//   2. a slice per op, categories are causes; step, chunk and micro-batch as arguments
//   3. inside a communication op, a slice while it waits for its peers
// Perfetto's clock has nanoseconds: picoseconds are rounded down, so slices of a stream still
// follow each other.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/program/program.h"
#include "engine/world/simulation.h"
#include "scenarios/studies/campaign/campaign_answer.h"
#include "scenarios/studies/network/network_trace.h"
#include "scenarios/studies/serve/served_timeline.h"
#include "scenarios/studies/serve/serving_study.h"

namespace orrery {

// `trace` is ordered by (rank, start), as a SimulationResult has it.
void write_perfetto_trace(std::ostream& out,
                          const Program& program,
                          const std::vector<TracedOp>& trace);
// To a file that appears whole or not at all.
// A name that ends with .json gets Chrome's format (report/trace/chrome_trace.h).
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

// A NetworkTrace: a track with slices per flow, a counter per link.
void write_network_trace(std::ostream& out, const NetworkTrace& trace);
// To a file that appears whole or not at all.
Result<void> write_network_trace(const std::string& file, const NetworkTrace& trace);

// The first seed's run of every plan of a campaign: a track with what the job does, one with what
// was observed, and the ETTR by day as a counter.
void write_campaign_trace(std::ostream& out, const CampaignAnswer& answer);
// To a file that appears whole or not at all.
Result<void> write_campaign_trace(const std::string& file, const CampaignAnswer& answer);

// A served load: a process for each pool, in it a track for each instance with its steps, and
// counters of its queue and its cache. Of the steps that the timeline has kept. Where it has kept
// less than all, an instant says so.
void write_serving_trace(std::ostream& out,
                         const ServingAnswer& answer,
                         const ServedTimeline& timeline);
Result<void> write_serving_trace(const std::string& file,
                                 const ServingAnswer& answer,
                                 const ServedTimeline& timeline);

}  // namespace orrery
