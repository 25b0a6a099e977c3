// SPDX-License-Identifier: Apache-2.0
// Writes traces for Perfetto (ui.perfetto.dev): the last step of the traced ranks, as protobuf
// messages of perfetto/trace (TracePacket, TrackEvent, TrackDescriptor, InternedData).
//   1. a process per rank, a thread per stream
//   2. a slice per op; categories are causes; step, chunk and micro-batch are arguments
//   3. inside a communication op, a slice while it waits for its peers
// Perfetto's clock has nanoseconds. Picoseconds are rounded down, so slices of a stream still
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

// `trace` is ordered by (rank, start), like SimulationResult::trace.
void write_perfetto_trace(std::ostream& out,
                          const Program& program,
                          const std::vector<TracedOp>& trace);
// Writes a file atomically: complete or not at all. A name that ends with .json selects Chrome's
// format (report/trace/chrome_trace.h).
Result<void> write_perfetto_trace(const std::string& file,
                                  const Program& program,
                                  const std::vector<TracedOp>& trace);

// One of several timelines of the same ranks (predicted, measured). The processes of a rank are
// adjacent: "rank 0 (pp 0) measured".
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
// Writes a file atomically.
Result<void> write_network_trace(const std::string& file, const NetworkTrace& trace);

// The first seed's run of every plan of a campaign: tracks of the job's states and of the
// observations, and the ETTR by day as a counter.
void write_campaign_trace(std::ostream& out, const CampaignAnswer& answer);
// Writes a file atomically.
Result<void> write_campaign_trace(const std::string& file, const CampaignAnswer& answer);

// A served load: a process per pool, with a track of steps per instance and counters of its queue
// and cache. An instant says so if the timeline did not keep all steps.
void write_serving_trace(std::ostream& out,
                         const ServingAnswer& answer,
                         const ServedTimeline& timeline);
Result<void> write_serving_trace(const std::string& file,
                                 const ServingAnswer& answer,
                                 const ServedTimeline& timeline);

}  // namespace orrery
