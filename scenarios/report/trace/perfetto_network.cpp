// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/document/output_file.h"
#include "scenarios/report/trace/perfetto_trace.h"
#include "scenarios/report/trace/perfetto_tracks.h"

namespace orrery {

void write_network_trace(std::ostream& out, const NetworkTrace& trace) {
    perfetto::TrackWriter writer{out};
    const std::uint64_t flows = writer.track("flows: " + trace.title);
    const std::uint64_t links = writer.track("links");
    for (const TraceTrack& track : trace.tracks) {
        const std::uint64_t uuid = writer.track(track.name, flows);
        for (const TraceSlice& slice : track.slices) {
            writer.slice(uuid,
                         slice.name,
                         perfetto::nanoseconds(slice.begin),
                         perfetto::nanoseconds(slice.end));
        }
    }
    for (const TraceCounter& counter : trace.counters) {
        const std::uint64_t uuid = writer.counter_track(counter.name, links);
        for (const auto& [at, value] : counter.values) {
            writer.count(uuid, value, perfetto::nanoseconds(at));
        }
    }
}

Result<void> write_network_trace(const std::string& file, const NetworkTrace& trace) {
    return OutputFile::write(file, [&](std::ostream& out) { write_network_trace(out, trace); });
}

}  // namespace orrery
